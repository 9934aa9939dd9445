-- Nothing was noted of who showed that an address is theirs. Those who have been here are taken to have: the first new
-- password of somebody who has worked here for years must not revoke the keys of their programs.
UPDATE "users" SET "email_verified_at" = "created_at";
