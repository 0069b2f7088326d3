"""Runs one ArcadeDB server that speaks Bolt: <folder> <bolt port> <http port> <password>. Prints a line "ready"."""

import sys
import threading
from pathlib import Path

from arcadedb_embedded.server import ArcadeDBServer  # type: ignore[import-not-found]

if __name__ == "__main__":
    folder, port, http_port, password = sys.argv[1:]
    server = ArcadeDBServer(
        root_path=folder,
        root_password=password,
        jvm_kwargs={"heap_size": "512m"},
        config={
            "http_port": int(http_port),
            "host": "127.0.0.1",
            "server_plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
            "bolt_port": int(port),
            "bolt_defaultDatabase": "neo4j",
        },
    )
    server.start()
    if not Path(folder, "databases", "neo4j").is_dir():
        server.create_database("neo4j")
    sys.stdout.write("\nready\n")  # the server's own last line has no end
    sys.stdout.flush()
    threading.Event().wait()
