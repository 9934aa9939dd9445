/** The functions whose statements cross workspaces, by file and name, with the reason. */

const core = 'packages/core/src'
const purge = 'Purges old rows of all workspaces in batches.'
const recovery = 'Recovers the claims of crashed workers, of all workspaces.'
const restored = 'Prepares a restored database, with all its workspaces, before processes use it.'
const operator = "For the operator: the installation's work and health, of all workspaces."
const reseal = 'Seals the secrets of all workspaces with a new key.'
const publicId = 'Finds the workspace by a public id, which does not contain it.'

export const acrossWorkspaces: Readonly<Record<string, string>> = {
  'apps/cli/src/doctor/secret-key.ts Object.run': operator,
  [`${core}/audit/purge-audit-entries.ts purgeAuditEntries`]: purge,
  [`${core}/backups/database-contents.ts readContents`]: 'Compares whole tables of a backup.',
  [`${core}/db/adopt-restored-events.ts adoptRestoredEvents`]: restored,
  [`${core}/db/migrate.ts migrate`]: 'Migrations change the rows of all workspaces.',
  [`${core}/db/partitions.ts hasRow`]: purge,
  [`${core}/events/emit.ts purgeEvents`]: purge,
  [`${core}/forms/forms.ts findPublicForm`]: publicId,
  [`${core}/forms/purge-submissions.ts purgeSubmissions`]: purge,
  [`${core}/imports/purge-imports.ts purgeFinishedImports`]: purge,
  [`${core}/imports/purge-imports.ts purgeImports`]: purge,
  [`${core}/installation/key-check.ts opensStoredSecret`]: 'Compares SECRET_KEY with the secrets of all workspaces.',
  [`${core}/lists/lists.ts findPublicList`]: publicId,
  [`${core}/mail/mail-quotas.ts purgeMailRequests`]: purge,
  [`${core}/mail/mails.ts purgeMails`]: purge,
  [`${core}/operations/mail/find-reported-workspace.ts listByMessageId`]: publicId,
  [`${core}/operations/mail/find-reported-workspace.ts listByProviderId`]: publicId,
  [`${core}/operations/contacts/find-traces.ts searchTables`]: operator,
  [`${core}/operations/overviews/senders-of-others.ts listSendersOfOthers`]: operator,
  [`${core}/domains/verify-domain.ts recheckDomains`]: 'Finds the domains of all workspaces that are due for a check.',
  [`${core}/domains/sending-domains.ts listSendingDomains`]: operator,
  [`${core}/domains/senders.ts listSharedDomains`]: operator,
  [`${core}/domains/senders.ts isGivenToOther`]: 'A sender domain belongs to one workspace of the installation.',
  [`${core}/domains/senders.ts isVerifiedByOther`]: 'A verified domain belongs to the workspaces that verified it.',
  [`${core}/operations/mail/known-reports.ts purgeMailReports`]: purge,
  [`${core}/operations/mail/read-bulk-mail.ts findCtxOfCampaign`]: operator,
  [`${core}/operations/overviews/campaign-overview.ts listCampaignOverviews`]: operator,
  [`${core}/operations/overviews/mail-rates.ts listSenders`]: operator,
  [`${core}/operations/overviews/find-quotas-near-limit.ts findWith`]: operator,
  [`${core}/operations/recovery/restored-backup.ts interruptDeliveries`]: restored,
  [`${core}/operations/recovery/restored-backup.ts interruptMails`]: restored,
  [`${core}/operations/recovery/restored-backup.ts interruptRecipients`]: restored,
  [`${core}/operations/recovery/restored-backup.ts pauseCampaigns`]: restored,
  [`${core}/operations/webhooks/webhook-health.ts disableFailingWebhooks`]: 'Finds failing webhooks of all workspaces.',
  [`${core}/operations/webhooks/webhook-health.ts warnAboutFailingWebhooks`]:
    'Finds failing webhooks of all workspaces.',
  [`${core}/operations/overviews/work-lag.ts readWorkLag`]: operator,
  [`${core}/operations/overviews/work-metrics.ts readWorkMetrics`]: operator,
  [`${core}/operations/overviews/work-summary.ts countCampaigns`]: operator,
  [`${core}/operations/overviews/work-summary.ts countDeliveries`]: operator,
  [`${core}/operations/overviews/work-summary.ts readWorkSummary`]: operator,
  [`${core}/request/count-or-estimate.ts countOrEstimate`]: 'Business metrics count the rows of all workspaces.',
  [`${core}/request/count-or-estimate.ts estimate`]: 'Business metrics count the rows of all workspaces.',
  [`${core}/request/idempotency.ts purgeIdempotencyRecords`]: purge,
  [`${core}/suppressions/soft-bounces.ts purgeSoftBounces`]: purge,
  [`${core}/webhooks/drain/abandoned-deliveries.ts expireDeliveries`]: 'Finds expired deliveries of all workspaces.',
  [`${core}/webhooks/drain/abandoned-deliveries.ts purgeDeliveries`]: purge,
  [`${core}/webhooks/drain/find-backlogs.ts findBacklogs`]: 'Finds the workspaces with PENDING deliveries.',
  [`${core}/webhooks/health/failing-webhooks.ts countFailingWebhooks`]: operator,
  [`${core}/webhooks/health/failing-webhooks.ts listFailingWebhooks`]: operator,
  [`${core}/webhooks/sealed-webhooks.ts findBatch`]: reseal,
  [`${core}/domains/sealed-domains.ts findBatch`]: reseal,
  [`${core}/webhooks/webhooks.ts purgeWebhooks`]: purge,
  [`${core}/work/claims.ts listClaims`]: recovery,
  [`${core}/work/publish.ts findPublishableWork`]: 'The poll publishes the work of all workspaces.',
}
