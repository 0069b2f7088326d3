"""What a cluster needs of an installation, made from contracts and the operator's file."""
