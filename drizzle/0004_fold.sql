-- Search without regard to case and accents. PostgreSQL calls unaccent() STABLE, as another dictionary could be put in
-- its place, and takes only what is IMMUTABLE in an index. A body of this form is kept as what its names stood for, so that
-- it works under any search_path, as when a dump is restored.
CREATE EXTENSION IF NOT EXISTS unaccent;--> statement-breakpoint
CREATE FUNCTION fold_text(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN lower(unaccent('unaccent'::regdictionary, value));
