"""What holds for all tests of the flow."""

import os

# The tests state every setting: what the shell says must not change what they prove.
for name in [name for name in os.environ if name.startswith("FANFUSE_") and name != "FANFUSE_SHARED"]:
    del os.environ[name]
