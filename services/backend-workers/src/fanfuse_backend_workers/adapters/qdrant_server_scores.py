"""Lets a search survive hits whose score is no number: Qdrant writes such a score as null, the client reads none.

In: the server's answer to a search. Out: the same with NaN for null, which is dropped and counted as any score that is
not finite. Nothing else of an answer is touched.
"""

from typing import Final

import httpx
from qdrant_client import AsyncQdrantClient
from qdrant_client.http.api_client import SendAsync

_SEARCH: Final = "/points/query"
_NULL, _NAN = b'"score":null', b'"score":NaN'
"""Inside a string the quotes would be escaped, and no object of a hit's payload is asked for."""


def keep_scores_readable(client: AsyncQdrantClient) -> None:
    """Make the client read scores that are null as NaN."""
    client.http.client.add_middleware(_readable)


async def _readable(request: httpx.Request, send: SendAsync) -> httpx.Response:
    answer = await send(request)
    if not request.url.path.endswith(_SEARCH) or _NULL not in answer.content:
        return answer
    return httpx.Response(answer.status_code, content=answer.content.replace(_NULL, _NAN))
