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
    Format.PDF: 128 * 1024**2,
    Format.HTML: 16 * 1024**2,
    Format.DOCX: 64 * 1024**2,
    Format.NOTEBOOK: 64 * 1024**2,
}
"""Compared with the size on disk before a byte is read. JSONL is read line by line, so it may be larger than memory."""
MAX_LINE_BYTES: Final = 8 * 1024**2
MAX_VECTORS_FILE_BYTES: Final = 2 * 1024**3

MAX_EXTRACT_SECONDS: Final = 120.0
"""For one PDF, HTML, DOCX or notebook file; its reading process is then ended. 5,000 full pages take 13 s of a core."""
MAX_EXTRACT_MEMORY_BYTES: Final = 1024**3
"""Address space of the reading process."""
MAX_EXTRACT_BYTES: Final = 32 * 1024**2
"""What a reading process may say of one file: its text in UTF-8 JSON."""
MAX_PDF_PAGES: Final = 5_000
MAX_PDF_PAGE_CHARS: Final = 200_000
MAX_PDF_BOOKMARKS: Final = 10_000
MAX_UNPACKED_BYTES: Final = 256 * 1024**2
"""Of a DOCX file, which is a ZIP archive."""
MIN_STAMPED_PAGES: Final = 3
MIN_STAMPED_SHARE: Final = 0.8
MAX_STAMP_CHARS: Final = 200
"""Lines that at least 3 pages and 80 % of all pages share are a stamp, such as a watermark or a running head. A page
with at most 200 characters of stamp and next to nothing else has no text of its own."""
MIN_OWN_CHARS: Final = 3
MAX_TEXTLESS_SHARE: Final = 0.5
"""If more pages of a PDF than this have no text, it counts among what could not be read."""

TARGET_CHUNK_CHARS: Final = 1_200
"""About the 256 tokens an embedder of the MiniLM family reads."""
MAX_CHUNK_CHARS: Final = 2_000
MIN_TAIL_SHARE: Final = 1 / 6
"""A last chunk below this share of the target joins the one before it, where that stays under the maximum."""
MAX_WHOLE_RECORD_CHARS: Final = 20_000
"""A JSONL record up to this size stays one chunk under its own `_id`; a longer one is split and reported."""
MAX_WHOLE_CODE_CHARS: Final = 8_000
"""A code cell of a notebook up to this size stays one chunk."""

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
