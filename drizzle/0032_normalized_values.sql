-- Values of TEXT fields are stored as filters look for them: without invisible characters at their ends, and in NFC.
-- Other encodings than UTF8 have no such characters.
DO $migration$ BEGIN IF getdatabaseencoding() = 'UTF8' THEN EXECUTE $statement$
UPDATE "contacts" c SET "custom_field_values" = c."custom_field_values" || stored.normalized
FROM (
	SELECT c."workspace_id", c."id", jsonb_object_agg(f."key", n.value) AS normalized
	FROM "contacts" c
	JOIN "custom_fields" f ON f."workspace_id" = c."workspace_id" AND f."type" = 'TEXT'
	CROSS JOIN LATERAL (SELECT normalize(regexp_replace(c."custom_field_values" ->> f."key", '^[\s\u0085\u00a0\u00ad\u061c\u115f\u1160\u1680\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufeff\uffa0]+|[\s\u0085\u00a0\u00ad\u061c\u115f\u1160\u1680\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufeff\uffa0]+$', '', 'g'), NFC) AS value) n
	WHERE jsonb_typeof(c."custom_field_values" -> f."key") = 'string' AND n.value <> c."custom_field_values" ->> f."key"
	GROUP BY c."workspace_id", c."id") stored
WHERE c."workspace_id" = stored."workspace_id" AND c."id" = stored."id"
$statement$; END IF; END $migration$;
