"""Labelled queries about four made-up topics, drawn with a fixed seed; one is in Chinese."""

import json
from pathlib import Path
from random import Random

TOPICS = {
    "aero": "wing lift drag flutter shock boundary layer airfoil pressure speed",
    "code": "python list string import function loop dict file read sort",
    "food": "soup bread salt oven butter onion garlic recipe cake cheese",
    "zh": "基金 怎么 买 天气 北京 今天 股票 手机 价格 医院",
}
SHARED_WORDS = "how what the of is a for best new"


def rows(per_corpus: int = 30, corpora: tuple[str, ...] = tuple(TOPICS), seed: int = 7) -> list[dict[str, str]]:
    """Some queries of each corpus, in turns."""
    chance = Random(seed)
    return [_row(corpus, chance) for _ in range(per_corpus) for corpus in corpora]


def _row(corpus: str, chance: Random) -> dict[str, str]:
    words = chance.sample(TOPICS[corpus].split(), 3)
    if corpus == "zh":
        return {"text": "".join(words), "corpus": corpus, "lang": "zh"}
    text = " ".join([*chance.sample(SHARED_WORDS.split(), 3), *words])
    return {"text": text, "corpus": corpus, "lang": "en"}


def write(path: Path, lines: list[dict[str, str]]) -> Path:
    """A file of labelled queries."""
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path
