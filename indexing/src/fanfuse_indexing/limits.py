"""The one table of limits of loading and chunking. Names end in their unit; nothing else in this package holds one."""

from collections.abc import Mapping
from typing import Final

from fanfuse_indexing.formats import Format

MAX_FILE_BYTES: Final[Mapping[Format, int]] = {
    Format.JSONL: 1024**3,
    Format.MARKDOWN: 16 * 1024**2,
    Format.TEXT: 16 * 1024**2,
    Format.RST: 16 * 1024**2,
    Format.PYTHON: 8 * 1024**2,
}
"""Compared with the size on disk before a byte is read. JSONL is read line by line, so it may be larger than memory."""
MAX_LINE_BYTES: Final = 8 * 1024**2
MAX_VECTORS_FILE_BYTES: Final = 2 * 1024**3

TARGET_CHUNK_CHARS: Final = 1_200
"""About the 256 tokens an embedder of the MiniLM family reads."""
MAX_CHUNK_CHARS: Final = 2_000
MIN_TAIL_SHARE: Final = 1 / 6
"""A last chunk below this share of the target joins the one before it, where that stays under the maximum."""
MAX_WHOLE_RECORD_CHARS: Final = 20_000
"""A JSONL record up to this size stays one chunk under its own `_id`; a longer one is split and reported."""

MAX_DOCUMENT_ID_CHARS: Final = 380
MAX_SLUG_CHARS: Final = 60
MAX_FRAGMENT_CHARS: Final = 120
"""Document id, '#', fragment and part number stay below the 512 characters of a chunk id."""

MAX_ENTITIES: Final = 64
MAX_ENTITY_CHARS: Final = 120
MAX_ENTITY_TEXT_CHARS: Final = 20_000
"""Text beyond this is not searched for entities."""
MAX_TRIPLES_PER_RECORD: Final = 10_000
MAX_METADATA_FIELDS: Final = 64
MAX_CORPUS_FIELDS: Final = 256
"""Distinct fields whose types are learned; fields met later are kept as metadata but not offered as filterable."""
MAX_METADATA_VALUE_BYTES: Final = 8_000
"""Engines refuse exact-match terms of more than 32,766 bytes."""
MAX_METADATA_LIST: Final = 1_000

MAX_LISTED: Final = 10_000
"""Skipped sources, and notices, listed one by one in a report; beyond it they are only counted."""
MAX_REASON_CHARS: Final = 300
