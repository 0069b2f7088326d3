CREATE SCHEMA IF NOT EXISTS fanfuse;

CREATE TABLE fanfuse.schema_version (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- One row, whose lock a writer holds until it commits: revisions are committed in their order and without a gap that
-- is filled later, which a sequence does not promise.
CREATE TABLE fanfuse.registry (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    revision bigint NOT NULL
);
INSERT INTO fanfuse.registry (revision) VALUES (0);

CREATE TABLE fanfuse.corpora (
    tenant text NOT NULL,
    corpus text NOT NULL,
    card json,  -- NULL: deleted. Not jsonb: a card comes back as it was written
    revision bigint NOT NULL UNIQUE,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, corpus)
);

CREATE FUNCTION fanfuse.stamp_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'set card to NULL instead: processes that follow would not hear of a deleted row';
    END IF;
    UPDATE fanfuse.registry SET revision = revision + 1 RETURNING revision INTO NEW.revision;
    NEW.changed_at := now();
    PERFORM pg_notify('fanfuse_corpora', '');
    RETURN NEW;
END
$$;

CREATE TRIGGER stamp_change BEFORE INSERT OR UPDATE OR DELETE ON fanfuse.corpora
    FOR EACH ROW EXECUTE FUNCTION fanfuse.stamp_change();
