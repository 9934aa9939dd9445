-- Search by parts of words, and indexes that start with the workspace.
CREATE EXTENSION IF NOT EXISTS pg_trgm;--> statement-breakpoint
CREATE EXTENSION IF NOT EXISTS btree_gin;--> statement-breakpoint
-- Search without regard to case and accents. "C" lowers ASCII letters, so that the collation tr-TR does not turn I into a
-- dotless i. An index takes only an IMMUTABLE function, and unaccent() is STABLE, because
-- its dictionary can be replaced. A body of this form is stored with resolved names, so it works with any search_path, as
-- during the restore of a dump.
CREATE EXTENSION IF NOT EXISTS unaccent;--> statement-breakpoint
CREATE FUNCTION fold_text(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN lower(lower(unaccent('unaccent'::regdictionary, value) COLLATE "C") COLLATE "default");--> statement-breakpoint
CREATE TABLE "work" (
	"id" uuid NOT NULL,
	"workspace_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"published_at" timestamp (3) with time zone,
	"due_at" timestamp (3) with time zone DEFAULT now(),
	"token" uuid,
	"worker_id" uuid,
	"claimed_at" timestamp (3) with time zone,
	"in_flight" uuid[] DEFAULT '{}' NOT NULL,
	"request_id" text,
	"traceparent" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "work_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "work_kind_check" CHECK ("work"."kind" in ('ACCOUNT_MAIL', 'MAIL', 'EMAIL', 'CAMPAIGN_BATCH', 'IMPORT', 'CLEAR_LIST', 'CLEAR_CUSTOM_FIELD', 'RELEASE_COMPANY', 'ERASE_CONTACT', 'CLEAR_WORKSPACE', 'DRAIN', 'VISITOR_MAILS'))
);
--> statement-breakpoint
CREATE TABLE "workers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"host" text NOT NULL,
	"started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"clock_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "idempotency_records" (
	"workspace_id" uuid NOT NULL,
	"key" text NOT NULL,
	"request_hash" text NOT NULL,
	"status" integer NOT NULL,
	"location" text,
	"body" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "idempotency_records_workspace_id_key_pk" PRIMARY KEY("workspace_id","key")
);
--> statement-breakpoint
CREATE TABLE "events" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"type" text NOT NULL,
	"data" json NOT NULL,
	"contact_id" uuid,
	"company_id" uuid,
	"transaction_id" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "events_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
) PARTITION BY RANGE ("id");
--> statement-breakpoint
CREATE TABLE "backups" (
	"file_name" text PRIMARY KEY NOT NULL,
	"bytes" bigint NOT NULL,
	"duration_ms" integer NOT NULL,
	"is_encrypted" boolean NOT NULL,
	"is_verified" boolean NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "audit_entries" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"action" text NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" text,
	"subject_id" text,
	"details" jsonb NOT NULL,
	"address" text,
	"request_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "audit_entries_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "mail_rates" (
	"id" bigint PRIMARY KEY NOT NULL,
	"next_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mail_reports" (
	"workspace_id" uuid NOT NULL,
	"fingerprint" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "mail_reports_workspace_id_fingerprint_pk" PRIMARY KEY("workspace_id","fingerprint")
);
--> statement-breakpoint
CREATE TABLE "mail_requests" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"address_hash" text NOT NULL,
	"list_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "mail_requests_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "mails" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"to_address" text NOT NULL,
	"data" jsonb NOT NULL,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"token" uuid,
	"error" text,
	"provider_message_hash" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "mails_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "mails_kind_check" CHECK ("mails"."kind" in ('CONFIRMATION', 'TRACKING_CONSENT', 'PERSONAL_DATA', 'CAMPAIGN_TEST', 'INVITE', 'PASSWORD_RESET', 'EMAIL_VERIFICATION', 'WEBHOOK_FAILING', 'WEBHOOK_DISABLED', 'CONFIRMATIONS_WITHHELD', 'TEMPLATE_PAUSED')),
	CONSTRAINT "mails_status_check" CHECK ("mails"."status" in ('PENDING', 'SENT', 'FAILED', 'INTERRUPTED'))
);
--> statement-breakpoint
CREATE TABLE "visitor_mails" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"list_id" uuid,
	"contact_id" uuid,
	"status" text DEFAULT 'WAITING' NOT NULL,
	"releases" integer DEFAULT 0 NOT NULL,
	"released_at" timestamp (3) with time zone,
	"used_at" timestamp (3) with time zone,
	"told_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "visitor_mails_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "visitor_mails_kind_check" CHECK ("visitor_mails"."kind" in ('CONFIRMATION', 'TRACKING_CONSENT', 'PERSONAL_DATA')),
	CONSTRAINT "visitor_mails_status_check" CHECK ("visitor_mails"."status" in ('WAITING', 'WITHHELD', 'RELEASED', 'GIVEN_UP', 'REPLACED'))
);
--> statement-breakpoint
CREATE TABLE "domains" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"host" text,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"keys" jsonb NOT NULL,
	"checks" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"checked_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "domains_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "domains_name_key" UNIQUE("workspace_id","name"),
	CONSTRAINT "domains_status_check" CHECK ("domains"."status" in ('PENDING', 'VERIFIED', 'FAILED'))
);
--> statement-breakpoint
CREATE TABLE "hosts" (
	"host" text PRIMARY KEY NOT NULL,
	"workspace_id" uuid NOT NULL,
	"domain_id" uuid NOT NULL,
	"verified_at" timestamp (3) with time zone,
	"is_current" boolean NOT NULL,
	"former_workspace_ids" uuid[] DEFAULT '{}' NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sender_domains" (
	"workspace_id" uuid NOT NULL,
	"domain" text NOT NULL,
	CONSTRAINT "sender_domains_workspace_id_domain_pk" PRIMARY KEY("workspace_id","domain")
);
--> statement-breakpoint
CREATE TABLE "pipelines" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "pipelines_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "stages" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"pipeline_id" uuid NOT NULL,
	"name" text NOT NULL,
	"position" integer NOT NULL,
	"win_probability" integer NOT NULL,
	CONSTRAINT "stages_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "stages_pipeline_key" UNIQUE("workspace_id","pipeline_id","id"),
	CONSTRAINT "stages_position_key" UNIQUE("workspace_id","pipeline_id","position"),
	CONSTRAINT "stages_win_probability_check" CHECK ("stages"."win_probability" between 0 and 100)
);
--> statement-breakpoint
CREATE TABLE "workspaces" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"currency" text DEFAULT 'EUR' NOT NULL,
	"from_name" text,
	"from_email" text,
	"postal_address" text,
	"logo_url" text,
	"accent_color" text,
	"locale" text,
	"confirm_changed_address" boolean DEFAULT false NOT NULL,
	"tracking_without_consent" text DEFAULT 'ANONYMOUS' NOT NULL,
	"quotas" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"suspended_at" timestamp (3) with time zone,
	"creation_key" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "workspaces_creation_key" UNIQUE("creation_key"),
	CONSTRAINT "workspaces_tracking_check" CHECK ("workspaces"."tracking_without_consent" in ('OFF', 'ANONYMOUS', 'PERSON'))
);
--> statement-breakpoint
CREATE TABLE "subscriptions" (
	"workspace_id" uuid NOT NULL,
	"list_id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	"status" text NOT NULL,
	"own_status" text NOT NULL,
	"own_status_at" timestamp (3) with time zone NOT NULL,
	"source" text,
	"confirmed_at" timestamp (3) with time zone,
	"consent" jsonb,
	"unsubscribed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "subscriptions_workspace_id_list_id_contact_id_pk" PRIMARY KEY("workspace_id","list_id","contact_id"),
	CONSTRAINT "subscriptions_status_check" CHECK ("subscriptions"."status" in ('PENDING', 'CONFIRMED', 'UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED')),
	CONSTRAINT "subscriptions_own_status_check" CHECK ("subscriptions"."own_status" in ('PENDING', 'CONFIRMED', 'REMOVED')),
	CONSTRAINT "subscriptions_open_check" CHECK ("subscriptions"."status" in ('UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED') or "subscriptions"."status" = "subscriptions"."own_status")
);
--> statement-breakpoint
CREATE TABLE "suppressions" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"email_hash" text NOT NULL,
	"list_id" uuid,
	"reason" text NOT NULL,
	"source" text NOT NULL,
	"actor_id" text,
	"note" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"first_said_at" timestamp (3) with time zone NOT NULL,
	"said_at" timestamp (3) with time zone NOT NULL,
	"undoable_until" timestamp (3) with time zone,
	"contact_id" uuid,
	CONSTRAINT "suppressions_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "suppressions_statement_key" UNIQUE NULLS NOT DISTINCT("workspace_id","email_hash","list_id","reason","source"),
	CONSTRAINT "suppressions_reason_check" CHECK ("suppressions"."reason" in ('COMPLAINED', 'OPTED_OUT', 'BOUNCED', 'MANUAL')),
	CONSTRAINT "suppressions_source_check" CHECK ("suppressions"."source" in ('MAIL_EVENT', 'LINK', 'API', 'IMPORT')),
	CONSTRAINT "suppressions_list_check" CHECK ("suppressions"."list_id" is null or "suppressions"."reason" = 'OPTED_OUT')
);
--> statement-breakpoint
CREATE TABLE "tracking_consents" (
	"workspace_id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	"opens" text,
	"clicks" text,
	"opens_denied_at" timestamp (3) with time zone,
	"clicks_denied_at" timestamp (3) with time zone,
	"proofs" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tracking_consents_workspace_id_contact_id_pk" PRIMARY KEY("workspace_id","contact_id"),
	CONSTRAINT "tracking_consents_opens_check" CHECK ("tracking_consents"."opens" in ('GRANTED', 'DENIED')),
	CONSTRAINT "tracking_consents_clicks_check" CHECK ("tracking_consents"."clicks" in ('GRANTED', 'DENIED'))
);
--> statement-breakpoint
CREATE TABLE "tracking_denials" (
	"workspace_id" uuid NOT NULL,
	"email_hash" text NOT NULL,
	"action" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tracking_denials_workspace_id_email_hash_action_pk" PRIMARY KEY("workspace_id","email_hash","action"),
	CONSTRAINT "tracking_denials_action_check" CHECK ("tracking_denials"."action" in ('opens', 'clicks'))
);
--> statement-breakpoint
CREATE TABLE "custom_fields" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"object" text DEFAULT 'CONTACT' NOT NULL,
	"key" text NOT NULL,
	"label" text NOT NULL,
	"type" text NOT NULL,
	"options" text[] DEFAULT '{}' NOT NULL,
	"removed_at" timestamp (3) with time zone,
	"cleared_to" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "custom_fields_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "custom_fields_key_key" UNIQUE("workspace_id","object","key"),
	CONSTRAINT "custom_fields_object_check" CHECK ("custom_fields"."object" in ('CONTACT', 'COMPANY', 'DEAL')),
	CONSTRAINT "custom_fields_type_check" CHECK ("custom_fields"."type" in ('TEXT', 'NUMBER', 'BOOLEAN', 'DATE', 'SELECT'))
);
--> statement-breakpoint
CREATE TABLE "segments" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"filter" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "segments_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "companies" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"domain" text,
	"external_id" text,
	"owner_id" uuid,
	"phone" text,
	"website" text,
	"custom_field_values" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"tags" text[] DEFAULT '{}' NOT NULL,
	"search_text" text GENERATED ALWAYS AS (fold_text(name || ' ' || coalesce(domain, '') || ' ' || coalesce(phone, '') || ' ' || coalesce(website, ''))) STORED NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "companies_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "contact_aliases" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	CONSTRAINT "contact_aliases_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "contacts" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"email" text NOT NULL,
	"external_id" text,
	"first_name" text DEFAULT '' NOT NULL,
	"last_name" text DEFAULT '' NOT NULL,
	"phone" text,
	"company" text,
	"company_id" uuid,
	"custom_field_values" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"tags" text[] DEFAULT '{}' NOT NULL,
	"email_subscribed_status" text DEFAULT 'NONE' NOT NULL,
	"last_activity_at" timestamp (3) with time zone,
	"source" text,
	"locale" text,
	"search_text" text GENERATED ALWAYS AS (fold_text(first_name || ' ' || last_name || ' ' || email || ' ' || coalesce(company, '') || ' ' || coalesce(phone, ''))) STORED NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "contacts_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "contacts_status_check" CHECK ("contacts"."email_subscribed_status" in ('NONE', 'PENDING', 'SUBSCRIBED', 'UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'))
);
--> statement-breakpoint
CREATE TABLE "erasures" (
	"workspace_id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	"merged_ids" uuid[] DEFAULT '{}' NOT NULL,
	"step" text,
	"after" text DEFAULT '' NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "erasures_workspace_id_contact_id_pk" PRIMARY KEY("workspace_id","contact_id")
);
--> statement-breakpoint
CREATE TABLE "external_id_aliases" (
	"workspace_id" uuid NOT NULL,
	"external_id" text NOT NULL,
	"contact_id" uuid NOT NULL,
	CONSTRAINT "external_id_aliases_workspace_id_external_id_pk" PRIMARY KEY("workspace_id","external_id")
);
--> statement-breakpoint
CREATE TABLE "lists" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"double_opt_in" boolean DEFAULT true NOT NULL,
	"public_signup" text DEFAULT 'OPEN' NOT NULL,
	"locale" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "lists_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "lists_public_signup_check" CHECK ("lists"."public_signup" in ('OPEN', 'CLOSED'))
);
--> statement-breakpoint
CREATE TABLE "soft_bounces" (
	"workspace_id" uuid NOT NULL,
	"email_hash" text NOT NULL,
	"mailed_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "soft_bounces_workspace_id_email_hash_mailed_at_pk" PRIMARY KEY("workspace_id","email_hash","mailed_at")
);
--> statement-breakpoint
CREATE TABLE "notes" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"body" text NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"contact_id" uuid,
	"company_id" uuid,
	"deal_id" uuid,
	"author_id" uuid,
	"api_key_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "notes_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "notes_kind_check" CHECK ("notes"."kind" in ('NOTE', 'CALL', 'MEETING')),
	CONSTRAINT "notes_record_check" CHECK (num_nonnulls("notes"."contact_id", "notes"."company_id", "notes"."deal_id") > 0)
);
--> statement-breakpoint
CREATE TABLE "deal_moves" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"deal_id" uuid NOT NULL,
	"from_pipeline_id" uuid NOT NULL,
	"from_stage_id" uuid NOT NULL,
	"from_status" text NOT NULL,
	"to_pipeline_id" uuid NOT NULL,
	"to_stage_id" uuid NOT NULL,
	"to_status" text NOT NULL,
	"user_id" uuid,
	"api_key_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "deal_moves_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "deals" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"pipeline_id" uuid NOT NULL,
	"stage_id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	"company_id" uuid,
	"contact_erased_at" timestamp (3) with time zone,
	"former_contact_ids" uuid[] DEFAULT '{}' NOT NULL,
	"name" text DEFAULT '' NOT NULL,
	"value_cents" bigint DEFAULT 0 NOT NULL,
	"status" text DEFAULT 'OPEN' NOT NULL,
	"closed_at" timestamp (3) with time zone,
	"owner_id" uuid,
	"expected_close_on" date,
	"lost_reason" text,
	"custom_field_values" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "deals_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "deals_status_check" CHECK ("deals"."status" in ('OPEN', 'WON', 'LOST')),
	CONSTRAINT "deals_closed_check" CHECK (("deals"."status" = 'OPEN') = ("deals"."closed_at" is null)),
	CONSTRAINT "deals_lost_check" CHECK ("deals"."lost_reason" is null or "deals"."status" = 'LOST'),
	CONSTRAINT "deals_value_check" CHECK ("deals"."value_cents" between 0 and 9007199254740991)
);
--> statement-breakpoint
CREATE TABLE "tasks" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	"title" text NOT NULL,
	"notes" text DEFAULT '' NOT NULL,
	"status" text DEFAULT 'OPEN' NOT NULL,
	"due_at" timestamp (3) with time zone,
	"assignee_id" uuid,
	"completed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tasks_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "tasks_status_check" CHECK ("tasks"."status" in ('OPEN', 'DONE')),
	CONSTRAINT "tasks_completed_check" CHECK (("tasks"."status" = 'OPEN') = ("tasks"."completed_at" is null))
);
--> statement-breakpoint
CREATE TABLE "form_submissions" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"form_id" uuid NOT NULL,
	"contact_id" uuid,
	"values" json NOT NULL,
	"consents" jsonb NOT NULL,
	"repetition_hash" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "form_submissions_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "form_submissions_repetition_key" UNIQUE("workspace_id","form_id","repetition_hash")
);
--> statement-breakpoint
CREATE TABLE "forms" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"fields" json NOT NULL,
	"list_id" uuid,
	"tags" text[] DEFAULT '{}' NOT NULL,
	"success_message" text NOT NULL,
	"redirect_url" text,
	"enabled" boolean DEFAULT true NOT NULL,
	"locale" text,
	"spam_count" integer DEFAULT 0 NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "forms_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "import_parts" (
	"workspace_id" uuid NOT NULL,
	"import_id" uuid NOT NULL,
	"position" bigint NOT NULL,
	"bytes" "bytea" NOT NULL,
	CONSTRAINT "import_parts_workspace_id_import_id_position_pk" PRIMARY KEY("workspace_id","import_id","position")
);
--> statement-breakpoint
CREATE TABLE "import_seen" (
	"workspace_id" uuid NOT NULL,
	"import_id" uuid NOT NULL,
	"email_hash" bigint NOT NULL,
	CONSTRAINT "import_seen_workspace_id_import_id_email_hash_pk" PRIMARY KEY("workspace_id","import_id","email_hash")
);
--> statement-breakpoint
CREATE TABLE "imports" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"status" text NOT NULL,
	"format" text NOT NULL,
	"kind" text DEFAULT 'CONTACTS' NOT NULL,
	"layout" jsonb,
	"row_status" text,
	"on_conflict" text NOT NULL,
	"list_id" uuid,
	"consent_confirmed" boolean DEFAULT false NOT NULL,
	"creates_companies" boolean DEFAULT false NOT NULL,
	"dry_run" boolean NOT NULL,
	"each_event" boolean NOT NULL,
	"processed" integer DEFAULT 0 NOT NULL,
	"created" integer DEFAULT 0 NOT NULL,
	"updated" integer DEFAULT 0 NOT NULL,
	"skipped" integer DEFAULT 0 NOT NULL,
	"failed" integer DEFAULT 0 NOT NULL,
	"confirmed" integer DEFAULT 0 NOT NULL,
	"opted_out" integer DEFAULT 0 NOT NULL,
	"suppressed" integer DEFAULT 0 NOT NULL,
	"errors" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"error_counts" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"size" bigint DEFAULT 0 NOT NULL,
	"position" bigint NOT NULL,
	"line" integer NOT NULL,
	"checked_position" bigint DEFAULT 0 NOT NULL,
	"checked_line" integer DEFAULT 1 NOT NULL,
	"findings" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"received_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"completed_at" timestamp (3) with time zone,
	CONSTRAINT "imports_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "imports_status_check" CHECK ("imports"."status" in ('RECEIVING', 'QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELED')),
	CONSTRAINT "imports_kind_check" CHECK ("imports"."kind" in ('CONTACTS', 'SUPPRESSIONS'))
);
--> statement-breakpoint
CREATE TABLE "campaign_batches" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"campaign_id" uuid NOT NULL,
	"contact_ids" uuid[] NOT NULL,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"sent" integer DEFAULT 0 NOT NULL,
	"failed" integer DEFAULT 0 NOT NULL,
	"skipped" integer DEFAULT 0 NOT NULL,
	"interrupted" integer DEFAULT 0 NOT NULL,
	"opened" integer DEFAULT 0 NOT NULL,
	"clicked" integer DEFAULT 0 NOT NULL,
	"unsubscribed" integer DEFAULT 0 NOT NULL,
	"bounced" integer DEFAULT 0 NOT NULL,
	"complained" integer DEFAULT 0 NOT NULL,
	"anonymous_opens" integer DEFAULT 0 NOT NULL,
	"anonymous_clicks" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "campaign_batches_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "campaign_batches_status_check" CHECK ("campaign_batches"."status" in ('PENDING', 'DONE'))
);
--> statement-breakpoint
CREATE TABLE "campaign_link_clicks" (
	"workspace_id" uuid NOT NULL,
	"campaign_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"slot" integer NOT NULL,
	"clicks" integer DEFAULT 0 NOT NULL,
	"anonymous_clicks" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "campaign_link_clicks_workspace_id_campaign_id_position_slot_pk" PRIMARY KEY("workspace_id","campaign_id","position","slot")
);
--> statement-breakpoint
CREATE TABLE "campaign_recipients" (
	"workspace_id" uuid NOT NULL,
	"campaign_id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	"batch_id" uuid NOT NULL,
	"status" text NOT NULL,
	"attempts" integer DEFAULT 1 NOT NULL,
	"token" uuid,
	"error" text,
	"provider_message_hash" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"opens_tracked" boolean,
	"clicks_tracked" boolean,
	"opened_at" timestamp (3) with time zone,
	"clicked_at" timestamp (3) with time zone,
	"unsubscribed_at" timestamp (3) with time zone,
	"bounced_at" timestamp (3) with time zone,
	"complained_at" timestamp (3) with time zone,
	"bounce_class" text,
	"bounce_code" text,
	CONSTRAINT "campaign_recipients_workspace_id_campaign_id_contact_id_pk" PRIMARY KEY("workspace_id","campaign_id","contact_id"),
	CONSTRAINT "campaign_recipients_status_check" CHECK ("campaign_recipients"."status" in ('SENDING', 'WAITING', 'SENT', 'FAILED', 'SKIPPED', 'INTERRUPTED')),
	CONSTRAINT "campaign_recipients_bounce_class_check" CHECK ("campaign_recipients"."bounce_class" in ('HARD', 'SOFT', 'MESSAGE', 'POLICY'))
);
--> statement-breakpoint
CREATE TABLE "campaigns" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"list_id" uuid,
	"segment_id" uuid,
	"name" text NOT NULL,
	"subject" text NOT NULL,
	"status" text DEFAULT 'DRAFT' NOT NULL,
	"html" text,
	"text" text,
	"body_bytes" integer GENERATED ALWAYS AS (coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)) STORED NOT NULL,
	"from_name" text,
	"from_email" text,
	"reply_to" text,
	"track_opens" boolean DEFAULT false NOT NULL,
	"track_clicks" boolean DEFAULT false NOT NULL,
	"web_version" boolean DEFAULT true NOT NULL,
	"queued" integer DEFAULT 0 NOT NULL,
	"pause_reason" text,
	"rates_accepted_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"sent_at" timestamp (3) with time zone,
	"completed_at" timestamp (3) with time zone,
	CONSTRAINT "campaigns_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "campaigns_status_check" CHECK ("campaigns"."status" in ('DRAFT', 'SENDING', 'PAUSED', 'SENT', 'CANCELED'))
);
--> statement-breakpoint
CREATE TABLE "emails" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"template_id" uuid NOT NULL,
	"template_version" integer NOT NULL,
	"ground" text NOT NULL,
	"contact_id" uuid,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"sealed_data" text,
	"reason" text,
	"tags" text[] DEFAULT '{}' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"token" uuid,
	"provider_message_hash" uuid,
	"bounce_class" text,
	"bounce_code" text,
	"bounced_at" timestamp (3) with time zone,
	"complained_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "emails_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "emails_ground_check" CHECK ("emails"."ground" in ('REQUEST', 'CONTRACT', 'SECURITY', 'LEGAL')),
	CONSTRAINT "emails_status_check" CHECK ("emails"."status" in ('PENDING', 'SENT', 'FAILED', 'INTERRUPTED', 'SKIPPED')),
	CONSTRAINT "emails_bounce_class_check" CHECK ("emails"."bounce_class" in ('HARD', 'SOFT', 'MESSAGE', 'POLICY'))
);
--> statement-breakpoint
CREATE TABLE "template_versions" (
	"workspace_id" uuid NOT NULL,
	"template_id" uuid NOT NULL,
	"version" integer NOT NULL,
	"subject" text NOT NULL,
	"html" text,
	"text" text,
	"variables" jsonb NOT NULL,
	"ground" text NOT NULL,
	"from_name" text,
	"from_email" text,
	"reply_to" text,
	CONSTRAINT "template_versions_workspace_id_template_id_version_pk" PRIMARY KEY("workspace_id","template_id","version"),
	CONSTRAINT "template_versions_ground_check" CHECK ("template_versions"."ground" in ('REQUEST', 'CONTRACT', 'SECURITY', 'LEGAL'))
);
--> statement-breakpoint
CREATE TABLE "templates" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"version" integer NOT NULL,
	"status" text DEFAULT 'ACTIVE' NOT NULL,
	"pause_reason" text,
	"activated_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "templates_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "templates_status_check" CHECK ("templates"."status" in ('ACTIVE', 'PAUSED'))
);
--> statement-breakpoint
CREATE TABLE "deliveries" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"webhook_id" uuid NOT NULL,
	"event_id" uuid NOT NULL,
	"event_type" text NOT NULL,
	"is_redelivery" boolean DEFAULT false NOT NULL,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"worker_id" uuid,
	"attempted_at" timestamp (3) with time zone,
	"duration_ms" integer,
	"response_status" integer,
	"response_body" text,
	"error" text,
	"request_id" text,
	"traceparent" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "deliveries_workspace_id_webhook_id_id_pk" PRIMARY KEY("workspace_id","webhook_id","id"),
	CONSTRAINT "deliveries_status_check" CHECK ("deliveries"."status" in ('PENDING', 'SUCCEEDED', 'FAILED', 'INTERRUPTED'))
) PARTITION BY RANGE ("id");
--> statement-breakpoint
CREATE TABLE "webhook_health" (
	"workspace_id" uuid NOT NULL,
	"webhook_id" uuid NOT NULL,
	"unreachable_count" integer DEFAULT 0 NOT NULL,
	"paused_until" timestamp (3) with time zone,
	"last_success_at" timestamp (3) with time zone,
	"last_failure_at" timestamp (3) with time zone,
	"failing_since" timestamp (3) with time zone,
	"failure_count" integer DEFAULT 0 NOT NULL,
	"warned_at" timestamp (3) with time zone,
	CONSTRAINT "webhook_health_workspace_id_webhook_id_pk" PRIMARY KEY("workspace_id","webhook_id")
) WITH (fillfactor = 50);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"url" text NOT NULL,
	"event_types" text[] NOT NULL,
	"filter" json,
	"filter_path" jsonpath,
	"enabled" boolean DEFAULT true NOT NULL,
	"disabled_reason" text,
	"encrypted_secret" text NOT NULL,
	"former_secrets" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "webhooks_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "webhooks_filter_check" CHECK (("webhooks"."filter" is null) = ("webhooks"."filter_path" is null))
);
--> statement-breakpoint
CREATE TABLE "mail_hook_tokens" (
	"hook_id" uuid NOT NULL,
	"token_hash" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "mail_hook_tokens_hook_id_token_hash_pk" PRIMARY KEY("hook_id","token_hash")
);
--> statement-breakpoint
CREATE TABLE "mail_hooks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"workspace_id" uuid,
	"provider" text NOT NULL,
	"encrypted_secret" text NOT NULL,
	"last_message_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "mail_hooks_provider_check" CHECK ("mail_hooks"."provider" in ('mailgun', 'postmark', 'resend', 'sendgrid', 'ses'))
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"rights" text[],
	"prefix" text NOT NULL,
	"key_hash" text NOT NULL,
	"created_by" uuid,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "api_keys_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "api_keys_hash_key" UNIQUE("key_hash"),
	CONSTRAINT "api_keys_role_check" CHECK ("api_keys"."role" in ('VIEWER', 'MEMBER', 'ADMIN'))
);
--> statement-breakpoint
CREATE TABLE "login_failures" (
	"email_hash" text PRIMARY KEY NOT NULL,
	"count" integer NOT NULL,
	"last_failed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"known_until" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "members" (
	"workspace_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"role" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "members_workspace_id_user_id_pk" PRIMARY KEY("workspace_id","user_id"),
	CONSTRAINT "members_role_check" CHECK ("members"."role" in ('VIEWER', 'MEMBER', 'ADMIN', 'OWNER'))
);
--> statement-breakpoint
CREATE TABLE "password_resets" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"token_hash" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "password_resets_token_key" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"token_hash" text PRIMARY KEY NOT NULL,
	"id" uuid DEFAULT uuidv7() NOT NULL,
	"workspace_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "sessions_id_key" UNIQUE("id")
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"name" text DEFAULT '' NOT NULL,
	"password_hash" text NOT NULL,
	"email_verified_at" timestamp (3) with time zone,
	"verification_mailed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invites" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"email" text NOT NULL,
	"role" text NOT NULL,
	"token_hash" text NOT NULL,
	"resends" integer DEFAULT 0 NOT NULL,
	"created_by" uuid,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "invites_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "invites_token_key" UNIQUE("token_hash"),
	CONSTRAINT "invites_role_check" CHECK ("invites"."role" in ('VIEWER', 'MEMBER', 'ADMIN', 'OWNER'))
);
--> statement-breakpoint
CREATE TABLE "installation" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"sealed_check" text NOT NULL,
	CONSTRAINT "installation_id_check" CHECK ("installation"."id" = 1)
);
--> statement-breakpoint
ALTER TABLE "work" ADD CONSTRAINT "work_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "idempotency_records" ADD CONSTRAINT "idempotency_records_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_entries" ADD CONSTRAINT "audit_entries_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mail_reports" ADD CONSTRAINT "mail_reports_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mail_requests" ADD CONSTRAINT "mail_requests_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mails" ADD CONSTRAINT "mails_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "visitor_mails" ADD CONSTRAINT "visitor_mails_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "domains" ADD CONSTRAINT "domains_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "hosts" ADD CONSTRAINT "hosts_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sender_domains" ADD CONSTRAINT "sender_domains_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pipelines" ADD CONSTRAINT "pipelines_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "stages" ADD CONSTRAINT "stages_pipeline_fk" FOREIGN KEY ("workspace_id","pipeline_id") REFERENCES "public"."pipelines"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_list_fk" FOREIGN KEY ("workspace_id","list_id") REFERENCES "public"."lists"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "suppressions" ADD CONSTRAINT "suppressions_list_fk" FOREIGN KEY ("workspace_id","list_id") REFERENCES "public"."lists"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tracking_consents" ADD CONSTRAINT "tracking_consents_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tracking_denials" ADD CONSTRAINT "tracking_denials_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "custom_fields" ADD CONSTRAINT "custom_fields_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "segments" ADD CONSTRAINT "segments_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "companies" ADD CONSTRAINT "companies_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "contact_aliases" ADD CONSTRAINT "contact_aliases_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "contacts" ADD CONSTRAINT "contacts_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "erasures" ADD CONSTRAINT "erasures_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "external_id_aliases" ADD CONSTRAINT "external_id_aliases_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "lists" ADD CONSTRAINT "lists_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "soft_bounces" ADD CONSTRAINT "soft_bounces_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_company_fk" FOREIGN KEY ("workspace_id","company_id") REFERENCES "public"."companies"("workspace_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_deal_fk" FOREIGN KEY ("workspace_id","deal_id") REFERENCES "public"."deals"("workspace_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deal_moves" ADD CONSTRAINT "deal_moves_deal_fk" FOREIGN KEY ("workspace_id","deal_id") REFERENCES "public"."deals"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deals" ADD CONSTRAINT "deals_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deals" ADD CONSTRAINT "deals_company_fk" FOREIGN KEY ("workspace_id","company_id") REFERENCES "public"."companies"("workspace_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deals" ADD CONSTRAINT "deals_stage_fk" FOREIGN KEY ("workspace_id","pipeline_id","stage_id") REFERENCES "public"."stages"("workspace_id","pipeline_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "form_submissions" ADD CONSTRAINT "form_submissions_form_fk" FOREIGN KEY ("workspace_id","form_id") REFERENCES "public"."forms"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "form_submissions" ADD CONSTRAINT "form_submissions_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "forms" ADD CONSTRAINT "forms_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "forms" ADD CONSTRAINT "forms_list_fk" FOREIGN KEY ("workspace_id","list_id") REFERENCES "public"."lists"("workspace_id","id") ON DELETE SET NULL ("list_id") ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "import_parts" ADD CONSTRAINT "import_parts_import_fk" FOREIGN KEY ("workspace_id","import_id") REFERENCES "public"."imports"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "import_seen" ADD CONSTRAINT "import_seen_import_fk" FOREIGN KEY ("workspace_id","import_id") REFERENCES "public"."imports"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "imports" ADD CONSTRAINT "imports_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "campaign_batches" ADD CONSTRAINT "campaign_batches_campaign_fk" FOREIGN KEY ("workspace_id","campaign_id") REFERENCES "public"."campaigns"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "campaign_link_clicks" ADD CONSTRAINT "campaign_link_clicks_campaign_fk" FOREIGN KEY ("workspace_id","campaign_id") REFERENCES "public"."campaigns"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "campaign_recipients" ADD CONSTRAINT "campaign_recipients_campaign_fk" FOREIGN KEY ("workspace_id","campaign_id") REFERENCES "public"."campaigns"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "campaigns" ADD CONSTRAINT "campaigns_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "campaigns" ADD CONSTRAINT "campaigns_list_fk" FOREIGN KEY ("workspace_id","list_id") REFERENCES "public"."lists"("workspace_id","id") ON DELETE SET NULL ("list_id") ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "campaigns" ADD CONSTRAINT "campaigns_segment_fk" FOREIGN KEY ("workspace_id","segment_id") REFERENCES "public"."segments"("workspace_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "emails" ADD CONSTRAINT "emails_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "emails" ADD CONSTRAINT "emails_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "template_versions" ADD CONSTRAINT "template_versions_template_fk" FOREIGN KEY ("workspace_id","template_id") REFERENCES "public"."templates"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "templates" ADD CONSTRAINT "templates_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_webhook_fk" FOREIGN KEY ("workspace_id","webhook_id") REFERENCES "public"."webhooks"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_health" ADD CONSTRAINT "webhook_health_webhook_fk" FOREIGN KEY ("workspace_id","webhook_id") REFERENCES "public"."webhooks"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mail_hooks" ADD CONSTRAINT "mail_hooks_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "password_resets" ADD CONSTRAINT "password_resets_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_member_fk" FOREIGN KEY ("workspace_id","user_id") REFERENCES "public"."members"("workspace_id","user_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invites" ADD CONSTRAINT "invites_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "work_publishing_index" ON "work" USING btree ("kind","workspace_id","due_at","id");--> statement-breakpoint
CREATE INDEX "work_claims_index" ON "work" USING btree ("worker_id") WHERE "work"."worker_id" is not null;--> statement-breakpoint
CREATE INDEX "idempotency_records_created_index" ON "idempotency_records" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "events_created_index" ON "events" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "events_feed_index" ON "events" USING btree ("workspace_id","transaction_id","id","type");--> statement-breakpoint
CREATE INDEX "events_contact_index" ON "events" USING btree ("workspace_id","contact_id","created_at","id") WHERE "events"."contact_id" is not null;--> statement-breakpoint
CREATE INDEX "events_company_index" ON "events" USING btree ("workspace_id","company_id","created_at","id") WHERE "events"."company_id" is not null;--> statement-breakpoint
CREATE INDEX "events_deal_index" ON "events" USING btree ("workspace_id",("data" ->> 'id')) WHERE "events"."contact_id" is null and "events"."type" like 'deal.%';--> statement-breakpoint
CREATE INDEX "audit_entries_created_index" ON "audit_entries" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "audit_entries_purge_index" ON "audit_entries" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "audit_entries_action_index" ON "audit_entries" USING btree ("workspace_id","action","created_at","id");--> statement-breakpoint
CREATE INDEX "audit_entries_actor_index" ON "audit_entries" USING btree ("workspace_id","actor_id","created_at","id");--> statement-breakpoint
CREATE INDEX "mail_reports_created_index" ON "mail_reports" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "mail_requests_address_index" ON "mail_requests" USING btree ("workspace_id","address_hash","kind","created_at");--> statement-breakpoint
CREATE INDEX "mail_requests_kind_index" ON "mail_requests" USING btree ("workspace_id","kind","created_at");--> statement-breakpoint
CREATE INDEX "mail_requests_created_index" ON "mail_requests" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "mails_created_index" ON "mails" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "mails_address_index" ON "mails" USING btree ("workspace_id",lower("to_address" collate "C"));--> statement-breakpoint
CREATE INDEX "mails_contact_index" ON "mails" USING btree ("workspace_id",("data" ->> 'contactId'));--> statement-breakpoint
CREATE INDEX "mails_provider_message_index" ON "mails" USING btree ("provider_message_hash") WHERE "mails"."provider_message_hash" is not null;--> statement-breakpoint
CREATE INDEX "visitor_mails_waiting_index" ON "visitor_mails" USING btree ("workspace_id","kind","created_at","id") WHERE "visitor_mails"."status" in ('WAITING', 'WITHHELD');--> statement-breakpoint
CREATE INDEX "visitor_mails_new_index" ON "visitor_mails" USING btree ("workspace_id") WHERE "visitor_mails"."status" = 'WAITING';--> statement-breakpoint
CREATE INDEX "visitor_mails_withheld_index" ON "visitor_mails" USING btree ("workspace_id","list_id","status","contact_id") WHERE "visitor_mails"."status" in ('WITHHELD', 'GIVEN_UP');--> statement-breakpoint
CREATE INDEX "visitor_mails_contact_index" ON "visitor_mails" USING btree ("workspace_id","contact_id","created_at");--> statement-breakpoint
CREATE INDEX "visitor_mails_released_index" ON "visitor_mails" USING btree ("workspace_id","released_at") WHERE "visitor_mails"."released_at" is not null;--> statement-breakpoint
CREATE INDEX "visitor_mails_used_index" ON "visitor_mails" USING btree ("workspace_id","used_at") WHERE "visitor_mails"."used_at" is not null;--> statement-breakpoint
CREATE INDEX "visitor_mails_told_index" ON "visitor_mails" USING btree ("workspace_id","told_at") WHERE "visitor_mails"."told_at" is not null;--> statement-breakpoint
CREATE INDEX "visitor_mails_created_index" ON "visitor_mails" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "domains_created_index" ON "domains" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "domains_checked_index" ON "domains" USING btree ("checked_at");--> statement-breakpoint
CREATE INDEX "domains_name_index" ON "domains" USING btree ("name");--> statement-breakpoint
CREATE INDEX "hosts_workspace_index" ON "hosts" USING btree ("workspace_id","created_at","host");--> statement-breakpoint
CREATE INDEX "sender_domains_domain_index" ON "sender_domains" USING btree ("domain");--> statement-breakpoint
CREATE INDEX "pipelines_created_index" ON "pipelines" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "subscriptions_contact_index" ON "subscriptions" USING btree ("workspace_id","contact_id");--> statement-breakpoint
CREATE INDEX "subscriptions_created_index" ON "subscriptions" USING btree ("workspace_id","list_id","created_at","contact_id");--> statement-breakpoint
CREATE INDEX "subscriptions_status_index" ON "subscriptions" USING btree ("workspace_id","list_id","status","created_at","contact_id");--> statement-breakpoint
CREATE UNIQUE INDEX "suppressions_address_key" ON "suppressions" USING btree ("workspace_id","email_hash","reason") WHERE "suppressions"."reason" in ('BOUNCED', 'MANUAL');--> statement-breakpoint
CREATE INDEX "suppressions_created_index" ON "suppressions" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "suppressions_reason_index" ON "suppressions" USING btree ("workspace_id","reason","created_at","id");--> statement-breakpoint
CREATE INDEX "suppressions_list_index" ON "suppressions" USING btree ("workspace_id","list_id","created_at","id");--> statement-breakpoint
CREATE INDEX "suppressions_contact_index" ON "suppressions" USING btree ("workspace_id","contact_id") WHERE "suppressions"."contact_id" is not null;--> statement-breakpoint
CREATE INDEX "custom_fields_created_index" ON "custom_fields" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "segments_created_index" ON "segments" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "companies_domain_key" ON "companies" USING btree ("workspace_id","domain") WHERE "companies"."domain" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "companies_external_id_key" ON "companies" USING btree ("workspace_id","external_id") WHERE "companies"."external_id" is not null;--> statement-breakpoint
CREATE INDEX "companies_created_index" ON "companies" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "companies_updated_index" ON "companies" USING btree ("workspace_id","updated_at","id");--> statement-breakpoint
CREATE INDEX "companies_owner_index" ON "companies" USING btree ("workspace_id","owner_id","created_at","id") WHERE "companies"."owner_id" is not null;--> statement-breakpoint
CREATE INDEX "companies_search_index" ON "companies" USING gin ("workspace_id","search_text" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "companies_tags_index" ON "companies" USING gin ("workspace_id","tags");--> statement-breakpoint
CREATE INDEX "companies_custom_fields_index" ON "companies" USING gin ("workspace_id","custom_field_values" jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "contact_aliases_contact_index" ON "contact_aliases" USING btree ("workspace_id","contact_id");--> statement-breakpoint
CREATE UNIQUE INDEX "contacts_email_key" ON "contacts" USING btree ("workspace_id",lower("email" collate "C"));--> statement-breakpoint
CREATE UNIQUE INDEX "contacts_external_id_key" ON "contacts" USING btree ("workspace_id","external_id") WHERE "contacts"."external_id" is not null;--> statement-breakpoint
CREATE INDEX "contacts_created_index" ON "contacts" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "contacts_updated_index" ON "contacts" USING btree ("workspace_id","updated_at","id");--> statement-breakpoint
CREATE INDEX "contacts_status_index" ON "contacts" USING btree ("workspace_id","email_subscribed_status","created_at","id");--> statement-breakpoint
CREATE INDEX "contacts_source_index" ON "contacts" USING btree ("workspace_id","source","created_at","id") WHERE "contacts"."source" is not null;--> statement-breakpoint
CREATE INDEX "contacts_company_index" ON "contacts" USING btree ("workspace_id","company_id","created_at","id") WHERE "contacts"."company_id" is not null;--> statement-breakpoint
CREATE INDEX "contacts_activity_index" ON "contacts" USING btree ("workspace_id",coalesce("last_activity_at", '-infinity'::timestamptz),"id");--> statement-breakpoint
CREATE INDEX "contacts_search_index" ON "contacts" USING gin ("workspace_id","search_text" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "contacts_tags_index" ON "contacts" USING gin ("workspace_id","tags");--> statement-breakpoint
CREATE INDEX "contacts_custom_fields_index" ON "contacts" USING gin ("workspace_id","custom_field_values" jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "external_id_aliases_contact_index" ON "external_id_aliases" USING btree ("workspace_id","contact_id");--> statement-breakpoint
CREATE INDEX "lists_id_index" ON "lists" USING btree ("id");--> statement-breakpoint
CREATE INDEX "lists_created_index" ON "lists" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "soft_bounces_mailed_index" ON "soft_bounces" USING btree ("mailed_at");--> statement-breakpoint
CREATE INDEX "notes_created_index" ON "notes" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "notes_occurred_index" ON "notes" USING btree ("workspace_id","occurred_at","id");--> statement-breakpoint
CREATE INDEX "notes_kind_index" ON "notes" USING btree ("workspace_id","kind","created_at","id");--> statement-breakpoint
CREATE INDEX "notes_contact_index" ON "notes" USING btree ("workspace_id","contact_id","created_at","id") WHERE "notes"."contact_id" is not null;--> statement-breakpoint
CREATE INDEX "notes_company_index" ON "notes" USING btree ("workspace_id","company_id","created_at","id") WHERE "notes"."company_id" is not null;--> statement-breakpoint
CREATE INDEX "notes_deal_index" ON "notes" USING btree ("workspace_id","deal_id","created_at","id") WHERE "notes"."deal_id" is not null;--> statement-breakpoint
CREATE INDEX "notes_author_index" ON "notes" USING btree ("workspace_id","author_id","created_at","id") WHERE "notes"."author_id" is not null;--> statement-breakpoint
CREATE INDEX "deal_moves_deal_index" ON "deal_moves" USING btree ("workspace_id","deal_id","created_at","id");--> statement-breakpoint
CREATE INDEX "deals_created_index" ON "deals" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "deals_updated_index" ON "deals" USING btree ("workspace_id","updated_at","id");--> statement-breakpoint
CREATE INDEX "deals_value_index" ON "deals" USING btree ("workspace_id","value_cents","id");--> statement-breakpoint
CREATE INDEX "deals_closed_index" ON "deals" USING btree ("workspace_id",coalesce("closed_at", '-infinity'::timestamptz),"id");--> statement-breakpoint
CREATE INDEX "deals_status_index" ON "deals" USING btree ("workspace_id","status","created_at","id");--> statement-breakpoint
CREATE INDEX "deals_pipeline_index" ON "deals" USING btree ("workspace_id","pipeline_id","created_at","id");--> statement-breakpoint
CREATE INDEX "deals_stage_index" ON "deals" USING btree ("workspace_id","stage_id","created_at","id");--> statement-breakpoint
CREATE INDEX "deals_contact_index" ON "deals" USING btree ("workspace_id","contact_id","created_at","id");--> statement-breakpoint
CREATE INDEX "deals_company_index" ON "deals" USING btree ("workspace_id","company_id","created_at","id") WHERE "deals"."company_id" is not null;--> statement-breakpoint
CREATE INDEX "deals_owner_index" ON "deals" USING btree ("workspace_id","owner_id","created_at","id") WHERE "deals"."owner_id" is not null;--> statement-breakpoint
CREATE INDEX "deals_expected_index" ON "deals" USING btree ("workspace_id","expected_close_on","id") WHERE "deals"."expected_close_on" is not null;--> statement-breakpoint
CREATE INDEX "deals_erased_index" ON "deals" USING btree ("workspace_id","created_at","id") WHERE "deals"."contact_erased_at" is not null;--> statement-breakpoint
CREATE INDEX "deals_custom_fields_index" ON "deals" USING gin ("workspace_id","custom_field_values" jsonb_path_ops) WHERE "deals"."custom_field_values" <> '{}';--> statement-breakpoint
CREATE INDEX "deals_open_index" ON "deals" USING btree ("workspace_id","pipeline_id","stage_id","value_cents","owner_id","expected_close_on") WHERE "deals"."status" = 'OPEN';--> statement-breakpoint
CREATE INDEX "deals_closed_sums_index" ON "deals" USING btree ("workspace_id","pipeline_id","closed_at","status","owner_id","lost_reason","value_cents") WHERE "deals"."status" <> 'OPEN';--> statement-breakpoint
CREATE INDEX "tasks_created_index" ON "tasks" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "tasks_order_index" ON "tasks" USING btree ("workspace_id",(case when "status" = 'OPEN' then coalesce("due_at", '10000-01-01 00:00:00+00'::timestamptz) else 'infinity'::timestamptz end),"id");--> statement-breakpoint
CREATE INDEX "tasks_due_index" ON "tasks" USING btree ("workspace_id","due_at");--> statement-breakpoint
CREATE INDEX "tasks_contact_index" ON "tasks" USING btree ("workspace_id","contact_id",(case when "status" = 'OPEN' then coalesce("due_at", '10000-01-01 00:00:00+00'::timestamptz) else 'infinity'::timestamptz end),"id");--> statement-breakpoint
CREATE INDEX "tasks_assignee_index" ON "tasks" USING btree ("workspace_id","assignee_id",(case when "status" = 'OPEN' then coalesce("due_at", '10000-01-01 00:00:00+00'::timestamptz) else 'infinity'::timestamptz end),"id");--> statement-breakpoint
CREATE INDEX "form_submissions_created_index" ON "form_submissions" USING btree ("workspace_id","form_id","created_at","id");--> statement-breakpoint
CREATE INDEX "form_submissions_contact_index" ON "form_submissions" USING btree ("workspace_id","contact_id") WHERE "form_submissions"."contact_id" is not null;--> statement-breakpoint
CREATE INDEX "forms_id_index" ON "forms" USING btree ("id");--> statement-breakpoint
CREATE INDEX "forms_created_index" ON "forms" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "forms_deleted_index" ON "forms" USING btree ("deleted_at") WHERE "forms"."deleted_at" is not null;--> statement-breakpoint
CREATE INDEX "forms_list_index" ON "forms" USING btree ("workspace_id","list_id") WHERE "forms"."list_id" is not null;--> statement-breakpoint
CREATE INDEX "imports_created_index" ON "imports" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "imports_receiving_index" ON "imports" USING btree ("received_at") WHERE "imports"."status" = 'RECEIVING';--> statement-breakpoint
CREATE INDEX "campaign_batches_campaign_index" ON "campaign_batches" USING btree ("workspace_id","campaign_id");--> statement-breakpoint
CREATE INDEX "campaign_batches_open_index" ON "campaign_batches" USING btree ("workspace_id","campaign_id","id") WHERE "campaign_batches"."status" <> 'DONE';--> statement-breakpoint
CREATE INDEX "campaign_recipients_contact_index" ON "campaign_recipients" USING btree ("workspace_id","contact_id");--> statement-breakpoint
CREATE INDEX "campaign_recipients_batch_index" ON "campaign_recipients" USING btree ("workspace_id","batch_id");--> statement-breakpoint
CREATE INDEX "campaign_recipients_created_index" ON "campaign_recipients" USING btree ("workspace_id","campaign_id","created_at","contact_id");--> statement-breakpoint
CREATE INDEX "campaign_recipients_status_index" ON "campaign_recipients" USING btree ("workspace_id","campaign_id","status","created_at","contact_id");--> statement-breakpoint
CREATE INDEX "campaign_recipients_bounce_index" ON "campaign_recipients" USING btree ("workspace_id","campaign_id","bounce_class","created_at") WHERE "campaign_recipients"."bounce_class" is not null;--> statement-breakpoint
CREATE INDEX "campaign_recipients_provider_message_index" ON "campaign_recipients" USING btree ("provider_message_hash") WHERE "campaign_recipients"."provider_message_hash" is not null;--> statement-breakpoint
CREATE INDEX "campaigns_id_index" ON "campaigns" USING btree ("id");--> statement-breakpoint
CREATE INDEX "campaigns_created_index" ON "campaigns" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "campaigns_list_index" ON "campaigns" USING btree ("workspace_id","list_id");--> statement-breakpoint
CREATE INDEX "campaigns_segment_index" ON "campaigns" USING btree ("workspace_id","segment_id") WHERE "campaigns"."segment_id" is not null;--> statement-breakpoint
CREATE INDEX "emails_created_index" ON "emails" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "emails_contact_index" ON "emails" USING btree ("workspace_id","contact_id","created_at","id");--> statement-breakpoint
CREATE INDEX "emails_template_index" ON "emails" USING btree ("workspace_id","template_id","created_at","id");--> statement-breakpoint
CREATE INDEX "emails_status_index" ON "emails" USING btree ("workspace_id","status","created_at","id");--> statement-breakpoint
CREATE INDEX "emails_tags_index" ON "emails" USING gin ("workspace_id","tags");--> statement-breakpoint
CREATE INDEX "emails_pending_index" ON "emails" USING btree ("workspace_id","template_id") WHERE "emails"."status" = 'PENDING';--> statement-breakpoint
CREATE INDEX "emails_ended_index" ON "emails" USING btree ("ended_at") WHERE "emails"."ended_at" is not null;--> statement-breakpoint
CREATE INDEX "emails_provider_message_index" ON "emails" USING btree ("provider_message_hash") WHERE "emails"."provider_message_hash" is not null;--> statement-breakpoint
CREATE INDEX "templates_created_index" ON "templates" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "deliveries_pending_index" ON "deliveries" USING btree ("workspace_id","webhook_id","created_at","id") WHERE "deliveries"."status" = 'PENDING';--> statement-breakpoint
CREATE INDEX "deliveries_failed_index" ON "deliveries" USING btree ("workspace_id","webhook_id","id") WHERE "deliveries"."status" in ('FAILED', 'INTERRUPTED');--> statement-breakpoint
CREATE INDEX "deliveries_redelivery_index" ON "deliveries" USING btree ("workspace_id","webhook_id","event_id") WHERE "deliveries"."is_redelivery";--> statement-breakpoint
CREATE INDEX "webhook_health_failing_index" ON "webhook_health" USING btree ("failing_since") WHERE "webhook_health"."failing_since" is not null;--> statement-breakpoint
CREATE INDEX "webhooks_created_index" ON "webhooks" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "webhooks_deleted_index" ON "webhooks" USING btree ("deleted_at") WHERE "webhooks"."deleted_at" is not null;--> statement-breakpoint
CREATE INDEX "mail_hook_tokens_created_index" ON "mail_hook_tokens" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "mail_hooks_workspace_index" ON "mail_hooks" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "api_keys_created_index" ON "api_keys" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "login_failures_failed_index" ON "login_failures" USING btree ("last_failed_at");--> statement-breakpoint
CREATE INDEX "members_user_index" ON "members" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "password_resets_user_index" ON "password_resets" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "password_resets_expiry_index" ON "password_resets" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "sessions_user_index" ON "sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_expiry_index" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email_key" ON "users" USING btree (lower("email" collate "C"));--> statement-breakpoint
CREATE UNIQUE INDEX "invites_email_key" ON "invites" USING btree ("workspace_id",lower("email" collate "C"));--> statement-breakpoint
CREATE INDEX "invites_created_index" ON "invites" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
-- The first partitions accept every id. `migrate` and the worker split them: see packages/core/src/db/partitions.ts.
CREATE TABLE "events_past" PARTITION OF "events" FOR VALUES FROM (MINVALUE) TO (MAXVALUE);--> statement-breakpoint
CREATE TABLE "deliveries_past" PARTITION OF "deliveries" FOR VALUES FROM (MINVALUE) TO (MAXVALUE);--> statement-breakpoint
-- Ids do not compress: an attempt takes half of the time of a send to a million contacts.
ALTER TABLE "campaign_batches" ALTER COLUMN "contact_ids" SET STORAGE EXTERNAL;
