"""What can go wrong with an operator's command. Each message is one line that says what to do."""


class OperatorError(Exception):
    """A command was not carried out; nothing was changed unless the message says otherwise."""


class NotAllowedError(OperatorError):
    """The bus refuses what the command needs to the user it runs as."""


class ConflictError(OperatorError):
    """Somebody else changed the same corpus meanwhile."""


class UnknownCorpusError(OperatorError):
    """There is no such corpus."""


class UnknownChunkError(OperatorError):
    """An id is neither a chunk's nor a document's."""


class NothingToIndexError(OperatorError):
    """A source holds no text at all."""


class NotAppliedError(OperatorError):
    """The registry was changed, but some instance has not followed in time."""
