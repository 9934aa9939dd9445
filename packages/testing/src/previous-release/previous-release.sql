-- Rows of the previous release in every table: see "Test an upgrade" in docs/upgrade.md.
-- Last migration: 0029_audit_purge_index

insert into "backups" ("file_name", "bytes", "duration_ms", "is_encrypted", "is_verified", "created_at") values
  ('rapport-20261005-120000.dump', '9007199254740991', '60000', 'true', 'false', '2026-10-05 12:48:00+00');

insert into "login_failures" ("email_hash", "count", "last_failed_at", "known_until") values
  ('of an address', '7', '2026-10-05 12:48:00+00', null),
  ('of an address and a client', '0', '2026-10-05 12:48:00+00', '2999-01-01 00:00:00+00');

insert into "mail_pace" ("id", "next_at") values
  ('1', '2026-10-05 08:00:00.123456+00');

insert into "users" ("id", "email", "name", "password_hash", "created_at", "updated_at", "email_verified_at", "verification_mailed_at") values
  ('01a10b13-abe8-7000-8001-000000000001', 'Ada@Example.com', 'Ada', '$argon2id$v=19$m=19456,t=2,p=1$P1By6tzBDEjrbBi1Txn5YQ$7KRZleg4Mx8zeW4pXmZ7CLXRC48HoaxPUyYJwEMBD1E', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00'),
  ('01a10b13-afd0-7000-8001-000000000002', 'grace@example.com', '', '$argon2id$v=19$m=19456,t=2,p=1$P1By6tzBDEjrbBi1Txn5YQ$7KRZleg4Mx8zeW4pXmZ7CLXRC48HoaxPUyYJwEMBD1E', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', null, null),
  ('01a10b13-b3b8-7000-8001-000000000003', 'ünïcode@exämple.com',  E'O''Brien \\ "x"', 'x', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', null, '2026-10-05 12:48:00+00'),
  ('01a10b13-b7a0-7000-8001-000000000004', 'viewer@example.com', '👁', 'x', '0001-01-01 00:00:00+00', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', null);

insert into "workers" ("id", "host", "started_at", "seen_at", "clock_at") values
  ('01a10b13-abe8-7000-8018-000000000001', 'host-ü', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', null),
  ('01a10b13-afd0-7000-8018-000000000002', 'host-b', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00');

insert into "workspaces" ("id", "name", "currency", "from_name", "from_email", "postal_address", "created_at", "updated_at", "deleted_at", "logo_url", "accent_color", "quotas", "suspended_at") values
  ('01a10b13-abe8-7000-8000-000000000001', 'Ärger & Söhne "GmbH"', 'JPY', 'Ada, Countess of L.', 'news@example.com', 'Am Platz 1
10117 Berlin', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', null, null, null, '{}', null),
  ('01a10b13-afd0-7000-8000-000000000002', '会社 👩🏽‍💻', 'EUR', null, null, null, '1970-01-01 00:00:00+00', '1970-01-01 00:00:00.001+00', null, 'https://example.com/ü.png', '#0055aa', '{"contacts": 10}', '2026-10-05 12:48:00+00'),
  ('01a10b13-b3b8-7000-8000-000000000003', 'Deleted, and not yet cleared', 'USD', null, null, null, '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', '2026-10-05 15:12:00+00', null, null, '{}', null);

insert into "api_keys" ("workspace_id", "id", "name", "role", "prefix", "key_hash", "expires_at", "last_used_at", "created_at", "created_by") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8004-000000000001', 'Back end', 'ADMIN', 'rpk_of-the', 'Ztd0gM4z6ndqYJo0XIyUfMkR2Snw3dTpjRwDjMztPJM', '2999-01-01 00:00:00+00', '2026-10-05 15:12:00+00', '2026-10-05 10:24:00+00', '01a10b13-abe8-7000-8001-000000000001'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8004-000000000002', '读者', 'VIEWER', 'rpk_aaaaaa', 'hash 2', null, null, '2026-10-05 10:24:00+00', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8004-000000000003', 'Of a user that is gone', 'MEMBER', 'rpk_bbbbbb', 'hash 3', null, null, '2026-10-05 10:24:00+00', '01a10b15-2ab8-7000-8001-000000000099');

insert into "audit_entries" ("workspace_id", "id", "action", "actor_kind", "actor_id", "subject_id", "details", "address", "request_id", "created_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8006-000000000001', 'api_key.created', 'user', 'usr_01m45h7az8e008008000000001', 'key_01m45h7az8e008010000000001', '{"name": "Back end", "none": null, "role": "ADMIN", "count": 1}', null, 'request-0', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8006-000000000002', 'api_key.created', 'apiKey', 'key_01m45h7az8e008010000000001', null, '{}', null, 'request-1', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8006-000000000003', 'login.failed', 'public', null, null, '{}', '2001:db8::1', 'request-2', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b7a0-7000-8006-000000000004', 'login.failed', 'system', null, null, '{}', null, 'request-3', '2026-10-05 12:48:00+00');

insert into "contacts" ("workspace_id", "id", "email", "first_name", "last_name", "phone", "company", "custom_field_values", "tags", "email_subscribed_status", "last_activity_at", "source", "created_at", "updated_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8007-000000000001', 'Zoë.O''Brien+tag@exämple.com', '𝓩oë 👩‍👩‍👧',  E'O''Brien \\ "Null" null', '+49 (30) 123-4', 'ÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄ',  E'{"vip": true, "note": "Straße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字", "plan": "pro", "seats": 1.5, "since": "0001-02-03"}',  E'{"a,b","quoted \\"tag\\"","null",ß,"{}"}', 'NONE', '1583-10-15 00:00:00.123+00', 'import', '1970-01-01 00:00:00.001+00', '2026-10-05 08:00:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8007-000000000002', 'person-2@example.com', 'Person 2', '', null, null, '{}', '{}', 'PENDING', null, null, '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8007-000000000003', 'person-3@example.com', 'Person 3', '', null, null, '{}', '{}', 'SUBSCRIBED', null, null, '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b7a0-7000-8007-000000000004', 'person-4@example.com', 'Person 4', '', null, null, '{}', '{}', 'UNSUBSCRIBED', null, null, '2026-10-05 15:12:00+00', '2026-10-05 15:12:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bb88-7000-8007-000000000005', 'person-5@example.com', 'Person 5', '', null, null, '{}', '{}', 'BOUNCED', null, null, '2026-10-05 17:36:00+00', '2026-10-05 17:36:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bf70-7000-8007-000000000006', 'person-6@example.com', 'Person 6', '', null, null, '{}', '{}', 'COMPLAINED', null, null, '2026-10-05 20:00:00+00', '2026-10-05 20:00:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-c358-7000-8007-000000000007', 'person-7@example.com', 'Person 7', '', null, null, '{}', '{}', 'SUBSCRIBED', null, null, '2026-10-05 22:24:00+00', '2026-10-05 22:24:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-c740-7000-8007-000000000008', 'person-8@example.com', 'Person 8', '', null, null, '{}', '{}', 'SUBSCRIBED', null, null, '2026-10-06 00:48:00+00', '2026-10-06 00:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-cb28-7000-8007-000000000009', 'person-9@example.com', 'Person 9', '', null, null, '{}', '{}', 'SUBSCRIBED', null, null, '2026-10-06 03:12:00+00', '2026-10-06 03:12:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-cf10-7000-8007-000000000010', 'person-10@example.com', 'Person 10', '', null, null, '{}', '{}', 'SUBSCRIBED', null, null, '2026-10-06 05:36:00+00', '2026-10-06 05:36:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-d2f8-7000-8007-000000000011', 'person-11@example.com', 'Person 11', '', null, null, '{}', '{}', 'SUBSCRIBED', null, null, '2026-10-06 08:00:00+00', '2026-10-06 08:00:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-d6e0-7000-8007-000000000012', 'person-12@example.com', 'Person 12', '', null, null, '{}', '{}', 'SUBSCRIBED', null, null, '2026-10-06 10:24:00+00', '2026-10-06 10:24:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-dac8-7000-8007-000000000013', 'person-13@example.com', 'Person 13', '', null, null, '{}', '{}', 'SUBSCRIBED', null, null, '2026-10-06 12:48:00+00', '2026-10-06 12:48:00+00'),
  ('01a10b13-afd0-7000-8000-000000000002', '01a10b15-2ab8-7000-8007-000000000099', 'person-1@example.com', '', '', null, null, '{}', '{}', 'NONE', null, null, '0001-01-01 00:00:00+00', '2026-10-05 10:24:00+00');

insert into "custom_fields" ("workspace_id", "id", "key", "label", "type", "options", "created_at", "updated_at", "removed_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8008-000000000001', 'note', 'Über note', 'TEXT', '{}', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8008-000000000002', 'seats', 'Über seats', 'NUMBER', '{}', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8008-000000000003', 'vip', 'Über vip', 'BOOLEAN', '{}', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b7a0-7000-8008-000000000004', 'since', 'Über since', 'DATE', '{}', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bb88-7000-8008-000000000005', 'plan', 'Über plan', 'SELECT',  E'{free,pro,"a,b","\\""}', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bf70-7000-8008-000000000006', 'removed', 'Über removed', 'TEXT', '{}', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', '2026-10-05 15:12:00+00');

insert into "erasures" ("workspace_id", "contact_id", "encrypted_identity", "created_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-fff8-7000-8007-000000000099', '9350d202.sJHs5fSVeNFxWl4s.Lb8X3js1aomHyVuWTMWPkQ.4KE0E23iYEL4dW3jwqtgRZhFyXPkV6_j5e31Om3hPL9oB57eupmOQr1GAnv4nGMtbic2kHweqlAtGah1OyrIOP_DSWZLUjaDGy0Thq5mSo6Ky2w0efjZPrSHcW79KcztdqHdc8dfKSc', '2026-10-05 12:48:00+00');

insert into "events" ("workspace_id", "id", "type", "data", "created_at", "contact_id", "transaction_id") values
  ('01a10b13-abe8-7000-8000-000000000001', '00e47199-13e8-7000-8016-000000000001', 'contact.created', '{"id":"con_01m45h7az8e00801r000000001",  "email":"Zoë.O''Brien+tag@exämple.com", "b": 1, "a": null}', '2001-02-03 00:00:01+00', '01a10b13-abe8-7000-8007-000000000001', '3'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8016-000000000002', 'contact.created', '{"id":"con_01m45h7byge00801r000000002","email":"person-2@example.com"}', '2026-10-05 08:00:02+00', '01a10b13-afd0-7000-8007-000000000002', '4'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8016-000000000003', 'deal.updated', '{"id":"dea_01m45h7az8e00803r000000001","valueCents":9007199254740991}', '2026-10-05 08:00:03+00', '01a10b13-abe8-7000-8007-000000000001', '5'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b7a0-7000-8016-000000000004', 'campaign.sent', '{"id":"cmp_01m45h7dx0e00804g000000004","name":"漢字 🦉"}', '2026-10-05 08:00:04+00', null, '6');

insert into "idempotency_records" ("workspace_id", "key", "request_hash", "status", "location", "body", "created_at") values
  ('01a10b13-abe8-7000-8000-000000000001', 'key with ünïcode', 'hash', '201', '/contacts/con_1', 'sealed', '2026-10-05 12:48:00+00'),
  ('01a10b13-afd0-7000-8000-000000000002', 'key', 'hash', '204', null, '', '2026-10-05 12:48:00+00');

insert into "imports" ("workspace_id", "id", "status", "format", "layout", "on_conflict", "list_id", "dry_run", "each_event", "processed", "created", "updated", "skipped", "failed", "errors", "size", "position", "line", "worker_id", "created_at", "received_at", "started_at", "completed_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-800a-000000000001', 'RECEIVING', 'csv', '{"columns": ["email", "firstName"], "delimiter": ","}', 'update', null, 'false', 'false', '0', '0', '0', '0', '0', '[]', '10', '17', '2', null, '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-800a-000000000002', 'QUEUED', 'ndjson', null, 'skip', '01a10b13-abe8-7000-8009-000000000001', 'false', 'true', '0', '0', '0', '0', '0', '[]', '55', '0', '1', null, '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-800a-000000000003', 'RUNNING', 'csv', '{"columns": ["email", "firstName"], "delimiter": ","}', 'skip', null, 'false', 'false', '1', '1', '0', '0', '0', '[]', '135', '46', '3', '01a10b13-abe8-7000-8018-000000000001', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b7a0-7000-800a-000000000004', 'COMPLETED', 'csv', '{"columns": ["email", "firstName"], "delimiter": ","}', 'skip', null, 'false', 'false', '3', '1', '1', '0', '1', '[{"line": 3, "message": "email: must be an email address"}]', '9007199254740991', '9007199254740991', '2147483647', null, '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', '2026-10-05 15:12:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bb88-7000-800a-000000000005', 'FAILED', 'csv', '{"columns": ["email", "firstName"], "delimiter": ","}', 'skip', null, 'true', 'false', '0', '0', '0', '0', '0', '[{"line": 1, "message": "Import failed"}]', '135', '17', '2', null, '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', '2026-10-05 15:12:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bf70-7000-800a-000000000006', 'CANCELED', 'csv', '{"columns": ["email"], "delimiter": ";"}', 'skip', null, 'false', 'false', '1', '1', '0', '0', '0', '[]', '135', '17', '2', null, '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', '2026-10-05 15:12:00+00');

insert into "invites" ("workspace_id", "id", "email", "role", "token_hash", "expires_at", "created_at", "resends", "created_by") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8005-000000000001', 'Invited0@example.com', 'VIEWER', 'hash 0', '2999-01-01 00:00:00+00', '2026-10-05 12:48:00+00', '0', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8005-000000000002', 'Invited1@example.com', 'MEMBER', 'hash 1', '2999-01-01 00:00:00+00', '2026-10-05 12:48:00+00', '1', '01a10b13-abe8-7000-8001-000000000001'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8005-000000000003', 'Invited2@example.com', 'ADMIN', 'hash 2', '2999-01-01 00:00:00+00', '2026-10-05 12:48:00+00', '2', '01a10b13-abe8-7000-8001-000000000001'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b7a0-7000-8005-000000000004', 'Invited3@example.com', 'OWNER', 'hash 3', '2999-01-01 00:00:00+00', '2026-10-05 12:48:00+00', '3', '01a10b13-abe8-7000-8001-000000000001');

insert into "lists" ("workspace_id", "id", "name", "description", "double_opt_in", "created_at", "updated_at", "deleted_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', 'Monthly — 月刊', 'Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße', 'true', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8009-000000000002', 'Deleted, and not yet cleared', '', 'false', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00', '2026-10-05 15:12:00+00');

insert into "mail_reports" ("workspace_id", "fingerprint", "created_at") values
  ('01a10b13-abe8-7000-8000-000000000001', 'hash of a report', '2026-10-05 12:48:00+00');

insert into "mail_requests" ("workspace_id", "id", "kind", "address_hash", "list_id", "created_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-801a-000000000001', 'CONFIRMATION', 'hash 1', '01a10b13-abe8-7000-8009-000000000001', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-801a-000000000002', 'INVITE', 'hash 2', null, '2026-10-05 12:48:00+00');

insert into "mails" ("workspace_id", "id", "kind", "to_address", "data", "status", "attempts", "worker_id", "error", "created_at", "settled_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8014-000000000001', 'EMAIL_VERIFICATION', 'grace@example.com', '{"userId": "usr_01m45h7byge008008000000002"}', 'PENDING', '0', null, null, '2026-10-05 12:48:00+00', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8014-000000000002', 'CONFIRMATION', 'Person-2@example.com', '{"listId": "lst_01m45h7az8e008028000000001", "contactId": "con_01m45h7byge00801r000000002"}', 'SENT', '1', null, null, '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8014-000000000003', 'CAMPAIGN_TEST', 'Person-3@example.com', '{"contactId": null, "campaignId": "cmp_01m45h7az8e00804g000000001"}', 'FAILED', '3', null, '550 nö', '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b7a0-7000-8014-000000000004', 'INVITE', 'Person-4@example.com', '{"inviteId": "inv_01m45h7az8e008018000000001"}', 'INTERRUPTED', '1', null, 'The worker died', '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bb88-7000-8014-000000000005', 'PASSWORD_RESET', 'Person-5@example.com', '{"passwordResetId": "rst_01m45h7az8e00800r000000001"}', 'SENDING', '1', '01a10b13-abe8-7000-8018-000000000001', null, '2026-10-05 12:48:00+00', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bf70-7000-8014-000000000006', 'WEBHOOK_FAILING', 'Ada@Example.com', '{"webhookId": "whk_01m45h7byge008058000000002"}', 'SENT', '1', null, null, '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-c358-7000-8014-000000000007', 'WEBHOOK_DISABLED', 'Ada@Example.com', '{"webhookId": "whk_01m45h7byge008058000000002"}', 'SENT', '1', null, null, '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00');

insert into "members" ("workspace_id", "user_id", "role", "created_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8001-000000000001', 'OWNER', '2026-10-05 10:24:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8001-000000000002', 'ADMIN', '2026-10-05 10:24:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8001-000000000003', 'MEMBER', '2026-10-05 10:24:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b7a0-7000-8001-000000000004', 'VIEWER', '2026-10-05 10:24:00+00'),
  ('01a10b13-afd0-7000-8000-000000000002', '01a10b13-abe8-7000-8001-000000000001', 'OWNER', '2026-10-05 10:24:00+00');

insert into "outbox" ("id", "workspace_id", "queue", "relayed_epoch", "relayed_at", "relays", "created_at", "lane", "request_id", "traceparent", "published_at") values
  ('01a10b13-abe8-7000-8014-000000000001', '01a10b13-abe8-7000-8000-000000000001', 'mail', null, null, '0', '2026-10-05 12:48:00+00', '01a10b13-abe8-7000-8015-000000000001', 'request-1', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '2026-10-05 12:48:00+00'),
  ('01a10b13-afd0-7000-8009-000000000002', '01a10b13-abe8-7000-8000-000000000001', 'maintenance', null, null, '0', '2026-10-05 12:48:00+00', null, null, null, null),
  ('01a10b13-afd0-7000-800a-000000000002', '01a10b13-abe8-7000-8000-000000000001', 'imports', null, null, '0', '2026-10-05 12:48:00+00', null, null, null, null),
  ('01a10b13-afd0-7000-8013-000000000002', '01a10b13-abe8-7000-8000-000000000001', 'campaigns', 'of a store that is gone', '2026-10-05 12:48:00+00', '1', '2026-10-05 12:48:00+00', null, null, null, null),
  ('01a10b13-b3b8-7000-8000-000000000003', '01a10b13-b3b8-7000-8000-000000000003', 'maintenance', null, null, '0', '2026-10-05 12:48:00+00', null, null, null, null),
  ('01a10b13-b3b8-7000-800a-000000000003', '01a10b13-abe8-7000-8000-000000000001', 'imports', 'of a store that is gone', '2026-10-05 12:48:00+00', '1', '2026-10-05 12:48:00+00', null, null, null, null),
  ('01a10b13-b3b8-7000-8013-000000000003', '01a10b13-abe8-7000-8000-000000000001', 'campaigns', null, null, '0', '2026-10-05 12:48:00+00', null, null, null, null),
  ('01a10b13-b7a0-7000-8013-000000000004', '01a10b13-abe8-7000-8000-000000000001', 'campaigns', null, null, '0', '2026-10-05 12:48:00+00', null, null, null, null),
  ('01a10b13-bb88-7000-8014-000000000005', '01a10b13-abe8-7000-8000-000000000001', 'mail', 'of a store that is gone', '2026-10-05 12:48:00+00', '1', '2026-10-05 12:48:00+00', null, null, null, null),
  ('01a10b13-bf70-7000-8008-000000000006', '01a10b13-abe8-7000-8000-000000000001', 'maintenance', null, null, '0', '2026-10-05 12:48:00+00', null, null, null, null),
  ('01a10b13-fff8-7000-8007-000000000099', '01a10b13-abe8-7000-8000-000000000001', 'maintenance', null, null, '0', '2026-10-05 12:48:00+00', null, null, null, null);

insert into "password_resets" ("id", "user_id", "token_hash", "expires_at", "created_at") values
  ('01a10b13-abe8-7000-8003-000000000001', '01a10b13-abe8-7000-8001-000000000001', 'hash of a token', '2999-01-01 00:00:00+00', '2026-10-05 12:48:00+00');

insert into "pipelines" ("workspace_id", "id", "name", "created_at", "updated_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-800d-000000000001', 'Vertrieb', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00'),
  ('01a10b13-afd0-7000-8000-000000000002', '01a10b13-afd0-7000-800d-000000000002', 'Empty', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00');

insert into "segments" ("workspace_id", "id", "name", "filter", "created_at", "updated_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8019-000000000001', 'Kunden „A“', '{"all": [{"tags": {"has": "ß"}}]}', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00');

insert into "sender_domains" ("workspace_id", "domain") values
  ('01a10b13-afd0-7000-8000-000000000002', 'news.example.org');

insert into "suppressions" ("workspace_id", "email_hash", "status", "created_at") values
  ('01a10b13-abe8-7000-8000-000000000001', 'hash of BOUNCED', 'BOUNCED', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', 'hash of COMPLAINED', 'COMPLAINED', '2026-10-05 12:48:00+00');

insert into "webhooks" ("workspace_id", "id", "url", "event_types", "enabled", "encrypted_secret", "created_at", "former_secrets", "deleted_at", "disabled_reason") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8015-000000000001', 'https://hooks.example.com/a?x=ü', '{*}', 'true', '9350d202.4hllgS1HD-Zhopra.Zf7P-gy5o3J4n6F0RzWzFA.8R8dtUH5WQFJSAceA0p1EOhfnNM7tcOsf48bK6MG1-76aQjfnnE', '2026-10-05 10:24:00+00', '[]', null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8015-000000000002', 'https://hooks.example.com/b', '{contact.created,deal.updated}', 'false', '9350d202.3LLW2IMAH7nJckqe.E3PxFd2wD35MS2Aos1-Cvw.u5BK_MGpPHC3lrmyD8jKMVfickPC1uJgGPtPDIgrvccpNLM3DWQ', '2026-10-05 10:24:00+00', '[{"until": "2999-01-01T00:00:00.000Z", "encrypted": "9350d202.ynNpjpqDcf6QvPxP.e9tAtdl0pcWKP4HO0d9RLg.biV-fvgTOBTTsHBnp8mqeVAzEaVDIVfEyS8BDNJwSyUB8yU4sxQ"}]', null, 'Every attempt has failed for five days'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8015-000000000003', 'https://hooks.example.com/c', '{*}', 'false', 'cleared', '2026-10-05 10:24:00+00', '[]', '2026-10-05 15:12:00+00', null);

insert into "campaigns" ("workspace_id", "id", "list_id", "name", "subject", "status", "html", "text", "from_name", "from_email", "reply_to", "track_opens", "track_clicks", "queued", "created_at", "updated_at", "sent_at", "completed_at", "pause_reason", "segment_id") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8012-000000000001', null, 'Campaign DRAFT', 'News für {{ contact.firstName }}', 'DRAFT', '<p>Grüße, {{ contact.firstName }}</p>', 'Grüße', null, null, null, 'false', 'false', '0', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', null, null, null, '01a10b13-abe8-7000-8019-000000000001'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8012-000000000002', '01a10b13-abe8-7000-8009-000000000001', 'Campaign SENDING', 'News für {{ contact.firstName }}', 'SENDING', null, null, null, null, null, 'false', 'false', '8', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00', null, null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8012-000000000003', '01a10b13-abe8-7000-8009-000000000001', 'Campaign PAUSED', 'News für {{ contact.firstName }}', 'PAUSED', null, null, null, null, null, 'false', 'false', '1', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00', null, 'The mail server refuses', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b7a0-7000-8012-000000000004', '01a10b13-abe8-7000-8009-000000000001', 'Campaign SENT', 'News für {{ contact.firstName }}', 'SENT', '<p>Hi</p>', null, 'Zoë', 'zoe@example.com', 'reply@example.com', 'true', 'true', '1', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bb88-7000-8012-000000000005', '01a10b13-abe8-7000-8009-000000000001', 'Campaign CANCELED', 'News für {{ contact.firstName }}', 'CANCELED', null, null, null, null, null, 'false', 'false', '1', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', '2026-10-05 10:24:00+00', '2026-10-05 12:48:00+00', null, null);

insert into "contact_aliases" ("workspace_id", "id", "contact_id") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b14-6b50-7000-8007-000000000050', '01a10b13-abe8-7000-8007-000000000001');

insert into "deliveries" ("workspace_id", "id", "webhook_id", "event_id", "event_type", "status", "worker_id", "attempted_at", "duration_ms", "response_status", "response_body", "error", "created_at", "request_id", "traceparent") values
  ('01a10b13-abe8-7000-8000-000000000001', '00e47199-13e8-7000-8017-000000000001', '01a10b13-abe8-7000-8015-000000000001', '00e47199-13e8-7000-8016-000000000001', 'contact.created', 'SUCCEEDED', null, '2026-10-05 12:48:00+00', '12', '200', '{"ok":true,"ü":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}', null, '2026-10-05 10:24:00+00', null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '00e47199-17d0-7000-8017-000000000002', '01a10b13-abe8-7000-8015-000000000001', '00e47199-13e8-7000-8016-000000000001', 'contact.created', 'FAILED', null, '2026-10-05 12:48:00+00', '12', null, null, 'connect ECONNREFUSED', '2026-10-05 10:24:00+00', null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8017-000000000003', '01a10b13-afd0-7000-8015-000000000002', '01a10b13-afd0-7000-8016-000000000002', 'contact.created', 'INTERRUPTED', null, '2026-10-05 12:48:00+00', null, null, null, 'The worker died', '2026-10-05 10:24:00+00', null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b7a0-7000-8017-000000000004', '01a10b13-abe8-7000-8015-000000000001', '01a10b13-afd0-7000-8016-000000000002', 'contact.created', 'INTERRUPTED', '01a10b13-abe8-7000-8018-000000000001', '2026-10-05 12:48:00+00', null, null, null, 'The worker died, or lost the database, while it was out', '2026-10-05 10:24:00+00', null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bb88-7000-8017-000000000005', '01a10b13-abe8-7000-8015-000000000001', '01a10b13-afd0-7000-8016-000000000002', 'contact.created', 'PENDING', null, null, null, null, null, null, '2026-10-05 10:24:00+00', 'request-5', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bf70-7000-8017-000000000006', '01a10b13-abe8-7000-8015-000000000001', '01a10b13-b3b8-7000-8016-000000000003', 'deal.updated', 'PENDING', null, null, null, null, null, null, '2026-10-05 10:24:00+00', null, null);

insert into "forms" ("workspace_id", "id", "name", "fields", "list_id", "tags", "success_message", "redirect_url", "enabled", "spam_count", "created_at", "updated_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-800b-000000000001', 'Kontakt', '[{"id":"text","label":"TEXT – ü","type":"TEXT","required":false},{"id":"textarea","label":"TEXTAREA – ü","type":"TEXTAREA","required":false},{"id":"email","label":"EMAIL – ü","type":"EMAIL","required":true,"mapsTo":"email"},{"id":"phone","label":"PHONE – ü","type":"PHONE","required":false},{"id":"number","label":"NUMBER – ü","type":"NUMBER","required":false},{"id":"date","label":"DATE – ü","type":"DATE","required":false},{"id":"select","label":"SELECT – ü","type":"SELECT","required":false,"options":["a","b,c"]},{"id":"checkbox","label":"CHECKBOX – ü","type":"CHECKBOX","required":false},{"id":"consent","label":"CONSENT – ü","type":"CONSENT","required":false}]', '01a10b13-abe8-7000-8009-000000000001', '{web,"a,b"}', 'Danke schön 🙏', 'https://example.com/danke?x=1#ü', 'true', '3', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-800b-000000000002', 'Disabled', '[]', null, '{}', '', null, 'false', '0', '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00');

insert into "import_parts" ("workspace_id", "import_id", "position", "bytes") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-800a-000000000001', '0',  E'\\x00ff0a0d22'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-800a-000000000002', '0',  E'\\x7b22656d61696c223a22696d706f727465642d34406578616d706c652e636f6d222c2266697273744e616d65223a2246c3bc6e66227d0a'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-800a-000000000003', '0',  E'\\x656d61696c2c66697273744e616d650d0a696d706f727465642d31406578616d706c652e636f6d2c45696e730d0a696d706f727465642d3240657861'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-800a-000000000003', '60',  E'\\x6d706c652e636f6d2c225a7765692c202222c3bc2222220d0a6e6f7420616e20616464726573732c447265690d0a696d706f727465642d33406578616d706c652e636f6d2c566965720d0a');

insert into "import_seen" ("workspace_id", "import_id", "email_hash") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bb88-7000-800a-000000000005', '-9223372036854775808'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bb88-7000-800a-000000000005', '0'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bb88-7000-800a-000000000005', '9223372036854775807');

insert into "opt_outs" ("workspace_id", "list_id", "email_hash", "status", "created_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', 'hash of BOUNCED', 'BOUNCED', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', 'hash of COMPLAINED', 'COMPLAINED', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', 'hash of UNSUBSCRIBED', 'UNSUBSCRIBED', '2026-10-05 12:48:00+00');

insert into "sessions" ("token_hash", "workspace_id", "user_id", "expires_at", "created_at", "id") values
  ('expired', '01a10b13-afd0-7000-8000-000000000002', '01a10b13-abe8-7000-8001-000000000001', '1999-01-01 00:00:00+00', '2026-10-05 10:24:00+00', '01a10b13-afd0-7000-8002-000000000002'),
  ('p-l4bqZ-oQfq055uOR8ZCpzuuGSVumnEhAgkhJjjqws', '01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8001-000000000001', '2999-12-31 23:59:59.999+00', '2026-10-05 10:24:00+00', '01a10b13-abe8-7000-8002-000000000001');

insert into "stages" ("workspace_id", "id", "pipeline_id", "name", "position", "win_probability") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-800e-000000000001', '01a10b13-abe8-7000-800d-000000000001', 'Lead', '0', '0'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-800e-000000000002', '01a10b13-abe8-7000-800d-000000000001', 'Angebot', '1', '50'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-800e-000000000003', '01a10b13-abe8-7000-800d-000000000001', 'Gewonnen', '2', '100');

insert into "subscriptions" ("workspace_id", "list_id", "contact_id", "status", "source", "confirmed_at", "unsubscribed_at", "created_at", "confirmations_requested_at", "is_removed", "consent") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', '01a10b13-afd0-7000-8007-000000000002', 'PENDING', 'form', null, null, '2026-10-05 10:24:00+00', '{"2026-10-05 15:12:00+00","2026-10-05 12:48:00+00","1970-01-01 00:00:00+00"}', 'false', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', '01a10b13-b3b8-7000-8007-000000000003', 'CONFIRMED', 'import', '2026-10-05 12:48:00+00', null, '2026-10-05 10:24:00+00', '{}', 'false', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', '01a10b13-b7a0-7000-8007-000000000004', 'UNSUBSCRIBED', null, null, '2026-10-05 15:12:00+00', '2026-10-05 10:24:00+00', '{}', 'true', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', '01a10b13-bb88-7000-8007-000000000005', 'BOUNCED', null, null, null, '2026-10-05 10:24:00+00', '{}', 'false', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', '01a10b13-bf70-7000-8007-000000000006', 'COMPLAINED', null, null, null, '2026-10-05 10:24:00+00', '{}', 'false', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', '01a10b13-c358-7000-8007-000000000007', 'CONFIRMED', null, '2026-10-05 12:48:00+00', null, '2026-10-05 10:24:00+00', '{}', 'false', '[{"at": "2026-10-05T10:24:00.000Z", "email": "person-7@example.com", "formId": null, "method": "FORM", "actorId": null, "address": "2001:db8::1", "wording": ["Ja, gern"], "importId": null, "confirmedAt": "2026-10-05T12:48:00.000Z", "doubleOptIn": true, "confirmedFrom": "2001:db8::1"}]'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', '01a10b13-c740-7000-8007-000000000008', 'CONFIRMED', null, '2026-10-05 12:48:00+00', null, '2026-10-05 10:24:00+00', '{}', 'false', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', '01a10b13-cb28-7000-8007-000000000009', 'CONFIRMED', null, '2026-10-05 12:48:00+00', null, '2026-10-05 10:24:00+00', '{}', 'false', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', '01a10b13-cf10-7000-8007-000000000010', 'CONFIRMED', null, '2026-10-05 12:48:00+00', null, '2026-10-05 10:24:00+00', '{}', 'false', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', '01a10b13-d2f8-7000-8007-000000000011', 'CONFIRMED', null, '2026-10-05 12:48:00+00', null, '2026-10-05 10:24:00+00', '{}', 'false', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', '01a10b13-d6e0-7000-8007-000000000012', 'CONFIRMED', null, '2026-10-05 12:48:00+00', null, '2026-10-05 10:24:00+00', '{}', 'false', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8009-000000000001', '01a10b13-dac8-7000-8007-000000000013', 'CONFIRMED', null, '2026-10-05 12:48:00+00', null, '2026-10-05 10:24:00+00', '{}', 'false', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8009-000000000002', '01a10b13-abe8-7000-8007-000000000001', 'CONFIRMED', null, '2026-10-05 12:48:00+00', null, '2026-10-05 10:24:00+00', '{}', 'false', null);

insert into "tasks" ("workspace_id", "id", "contact_id", "title", "notes", "status", "due_at", "assignee_id", "completed_at", "created_at", "updated_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8011-000000000001', '01a10b13-abe8-7000-8007-000000000001', 'Anrufen ☎', 'Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
Straße ñandú — 漢字 🦉
', 'OPEN', '9999-12-31 23:59:59.999+00', '01a10b13-afd0-7000-8001-000000000002', null, '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8011-000000000002', '01a10b13-abe8-7000-8007-000000000001', 'Done', '', 'DONE', null, null, '2026-10-05 15:12:00+00', '2026-10-05 10:24:00+00', '2026-10-05 15:12:00+00');

insert into "webhook_drains" ("workspace_id", "webhook_id", "worker_id", "token", "delivery_ids", "taken_at", "unreachable_count", "paused_until", "last_success_at", "last_failure_at", "failing_since", "failure_count", "warned_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8015-000000000001', '01a10b13-abe8-7000-8018-000000000001', '01a10b13-abe8-7000-801b-000000000001', '{01a10b13-bb88-7000-8017-000000000005}', '2026-10-05 12:48:00+00', '0', null, '2026-10-05 10:24:00+00', null, null, '0', null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8015-000000000002', null, null, '{}', null, '3', '2026-10-05 12:48:00+00', null, '2026-10-05 12:48:00+00', '2026-10-05 10:24:00+00', '7', '2026-10-05 12:48:00+00');

insert into "campaign_batches" ("workspace_id", "id", "campaign_id", "contact_ids", "status", "worker_id", "sent", "failed", "skipped", "interrupted", "opened", "clicked", "unsubscribed", "bounced", "complained") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8013-000000000001', '01a10b13-afd0-7000-8012-000000000002', '{01a10b13-b3b8-7000-8007-000000000003,01a10b13-b7a0-7000-8007-000000000004,01a10b13-c358-7000-8007-000000000007}', 'DONE', null, '1', '1', '1', '0', '1', '1', '0', '0', '0'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8013-000000000002', '01a10b13-afd0-7000-8012-000000000002', '{01a10b13-c740-7000-8007-000000000008,01a10b13-cb28-7000-8007-000000000009,01a10b13-cf10-7000-8007-000000000010}', 'SENDING', '01a10b13-abe8-7000-8018-000000000001', '1', '0', '0', '0', '0', '0', '0', '0', '0'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8013-000000000003', '01a10b13-afd0-7000-8012-000000000002', '{01a10b13-d6e0-7000-8007-000000000012,01a10b13-dac8-7000-8007-000000000013}', 'PENDING', null, '0', '0', '0', '0', '0', '0', '0', '0', '0'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b7a0-7000-8013-000000000004', '01a10b13-b3b8-7000-8012-000000000003', '{01a10b13-b3b8-7000-8007-000000000003}', 'PENDING', null, '0', '0', '0', '0', '0', '0', '0', '0', '0'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bb88-7000-8013-000000000005', '01a10b13-b7a0-7000-8012-000000000004', '{01a10b13-bb88-7000-8007-000000000005}', 'DONE', null, '1', '0', '0', '0', '0', '0', '1', '1', '1'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bf70-7000-8013-000000000006', '01a10b13-bb88-7000-8012-000000000005', '{01a10b13-d2f8-7000-8007-000000000011}', 'DONE', null, '0', '0', '0', '1', '0', '0', '0', '0', '0');

insert into "campaign_recipients" ("workspace_id", "campaign_id", "contact_id", "batch_id", "status", "attempts", "worker_id", "error", "created_at", "settled_at", "opened_at", "clicked_at", "unsubscribed_at", "bounced_at", "complained_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8012-000000000002', '01a10b13-b3b8-7000-8007-000000000003', '01a10b13-abe8-7000-8013-000000000001', 'SENT', '1', null, null, '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00', '2026-10-05 15:12:00+00', '2026-10-05 15:12:00+00', null, null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8012-000000000002', '01a10b13-b7a0-7000-8007-000000000004', '01a10b13-abe8-7000-8013-000000000001', 'SKIPPED', '1', null, 'Left the list before the mail was sent', '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00', null, null, null, null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8012-000000000002', '01a10b13-c358-7000-8007-000000000007', '01a10b13-abe8-7000-8013-000000000001', 'FAILED', '3', null, '550 ünbekannt', '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00', null, null, null, null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8012-000000000002', '01a10b13-c740-7000-8007-000000000008', '01a10b13-afd0-7000-8013-000000000002', 'SENT', '1', null, null, '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00', null, null, null, null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8012-000000000002', '01a10b13-cb28-7000-8007-000000000009', '01a10b13-afd0-7000-8013-000000000002', 'SENDING', '1', '01a10b13-abe8-7000-8018-000000000001', null, '2026-10-05 12:48:00+00', null, null, null, null, null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8012-000000000002', '01a10b13-cf10-7000-8007-000000000010', '01a10b13-afd0-7000-8013-000000000002', 'WAITING', '2', null, '451 later', '2026-10-05 12:48:00+00', null, null, null, null, null, null),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b7a0-7000-8012-000000000004', '01a10b13-bb88-7000-8007-000000000005', '01a10b13-bb88-7000-8013-000000000005', 'SENT', '1', null, null, '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00', null, null, '2026-10-05 15:12:00+00', '2026-10-05 15:12:00+00', '2026-10-05 15:12:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-bb88-7000-8012-000000000005', '01a10b13-d2f8-7000-8007-000000000011', '01a10b13-bf70-7000-8013-000000000006', 'INTERRUPTED', '1', null, 'The worker died', '2026-10-05 12:48:00+00', '2026-10-05 12:48:00+00', null, null, null, null, null);

insert into "deals" ("workspace_id", "id", "pipeline_id", "stage_id", "contact_id", "name", "value_cents", "status", "closed_at", "created_at", "updated_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-800f-000000000001', '01a10b13-abe8-7000-800d-000000000001', '01a10b13-abe8-7000-800e-000000000001', '01a10b13-abe8-7000-8007-000000000001', 'Größter Deal', '9007199254740991', 'OPEN', null, '2026-10-05 10:24:00+00', '2026-10-05 10:24:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-800f-000000000002', '01a10b13-abe8-7000-800d-000000000001', '01a10b13-b3b8-7000-800e-000000000003', '01a10b13-abe8-7000-8007-000000000001', '', '0', 'WON', '2026-10-05 15:12:00+00', '2026-10-05 10:24:00+00', '2026-10-05 15:12:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-800f-000000000003', '01a10b13-abe8-7000-800d-000000000001', '01a10b13-afd0-7000-800e-000000000002', '01a10b13-b3b8-7000-8007-000000000003', 'Lost', '1', 'LOST', '1970-01-01 00:00:00+00', '2026-10-05 10:24:00+00', '2026-10-05 15:12:00+00');

insert into "form_submissions" ("workspace_id", "id", "form_id", "contact_id", "values", "consents", "repetition_hash", "created_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-800c-000000000001', '01a10b13-abe8-7000-800b-000000000001', '01a10b13-abe8-7000-8007-000000000001',  E'{"textarea":"Straße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\nStraße ñandú — 漢字 🦉\\n","email":"zoe@example.com","number":1.5,"checkbox":true}',  E'[{"fieldId": "consent", "wording": "Ja, \\"gerne\\""}]', 'hash', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-800c-000000000002', '01a10b13-abe8-7000-800b-000000000001', null, '{ "b": 1,  "a": null }', '[]', null, '2026-10-05 12:48:00+00');

insert into "deal_moves" ("workspace_id", "id", "deal_id", "from_pipeline_id", "from_stage_id", "from_status", "to_pipeline_id", "to_stage_id", "to_status", "user_id", "api_key_id", "created_at") values
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-abe8-7000-8010-000000000001', '01a10b13-abe8-7000-800f-000000000001', '01a10b13-abe8-7000-800d-000000000001', '01a10b13-abe8-7000-800e-000000000001', 'OPEN', '01a10b13-abe8-7000-800d-000000000001', '01a10b15-2ab8-7000-800e-000000000099', 'WON', '01a10b13-abe8-7000-8001-000000000001', null, '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-afd0-7000-8010-000000000002', '01a10b13-afd0-7000-800f-000000000002', '01a10b13-abe8-7000-800d-000000000001', '01a10b13-abe8-7000-800e-000000000001', 'WON', '01a10b13-abe8-7000-800d-000000000001', '01a10b15-2ab8-7000-800e-000000000099', 'LOST', null, '01a10b13-abe8-7000-8004-000000000001', '2026-10-05 12:48:00+00'),
  ('01a10b13-abe8-7000-8000-000000000001', '01a10b13-b3b8-7000-8010-000000000003', '01a10b13-b3b8-7000-800f-000000000003', '01a10b13-abe8-7000-800d-000000000001', '01a10b13-abe8-7000-800e-000000000001', 'LOST', '01a10b13-abe8-7000-800d-000000000001', '01a10b15-2ab8-7000-800e-000000000099', 'OPEN', null, null, '2026-10-05 12:48:00+00');
