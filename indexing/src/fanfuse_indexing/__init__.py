"""Turns source documents into chunks, entities and index records; knows no engine and no bus."""
