"""A small judged collection in BEIR form, with vectors, one document that is indexed in parts and two names."""

import json
from pathlib import Path

import numpy as np

WORDS = ["airship", "keel", "rudder", "hull", "gas", "ballast", "mast", "crew", "hangar", "wind"]


def write_collection(folder: Path, documents: int = 30) -> Path:
    """Documents about two words each, a query per word; vectors beside it as <name>.npz. The folder."""
    folder.mkdir(parents=True)
    texts = {f"d{n}": f"{WORDS[n % 10]} and {WORDS[(n * 3 + 1) % 10]} of ship {n}" for n in range(documents)}
    texts["long"] = "\n\n".join(f"The {word} stands in paragraph {n}. " * 90 for n, word in enumerate(WORDS))
    queries = {f"q{n}": f"what of the {word}" for n, word in enumerate(WORDS)}
    judged = [(key, "long", 2) for key in queries]
    judged += [
        (key, name, 1)
        for key, word in zip(queries, WORDS, strict=True)
        for name, text in texts.items()
        if text.startswith(word)
    ]
    _lines(folder / "corpus.jsonl", [{"_id": key, "title": "", "text": text} for key, text in texts.items()])
    _lines(folder / "queries.jsonl", [{"_id": key, "text": text} for key, text in queries.items()])
    rows = ["query-id\tcorpus-id\tscore", *(f"{query}\t{name}\t{grade}" for query, name, grade in judged)]
    (folder / "qrels.tsv").write_text("\n".join(rows) + "\n")
    draw = np.random.default_rng(7)
    np.savez(
        folder.with_suffix(".npz"),
        doc_ids=[*texts],
        doc_vectors=draw.normal(size=(len(texts), 384)),
        query_ids=[*queries],
        query_vectors=draw.normal(size=(len(queries), 384)),
    )
    return folder


def _lines(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
