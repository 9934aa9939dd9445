import { eq } from 'drizzle-orm'
import { loadCampaignRenderer, previewCampaign } from '../../campaigns/campaign-mail.ts'
import { readStats } from '../../campaigns/campaign-stats.ts'
import { campaigns } from '../../db/schema/index.ts'
import { type ExpectedRecord, recordsOf } from '../../domains/domain-records.ts'
import { findDomainByName } from '../../domains/domains.ts'
import { returnPathOf } from '../../domains/return-path.ts'
import { AppError, notFound } from '../../kernel/errors.ts'
import type { CampaignId } from '../../kernel/ids.ts'
import { mailDomain } from '../../mail/outgoing-mail.ts'
import { createExampleRecipient } from '../../rendering/example-recipient.ts'
import type { BaseCtx, Ctx } from '../../request/context.ts'

/** What receivers of bulk mail judge of a campaign. */
export interface BulkMail {
  from: string
  headers: Readonly<Record<string, string>>
  html: string
  text: string
  /** The domain of the envelope sender. */
  returnPath: string
  /** The record of the key for the domain of `from`. Undefined if the workspace has not added the domain. */
  dkimRecord: ExpectedRecord | undefined
  /** Whether this key signs: the workspace has verified the domain. */
  isSigned: boolean
  sent: number
  complained: number
}

/** Renders the mail of a campaign of any workspace for the example contact, for the operator. Sends nothing. */
export async function readBulkMail(base: BaseCtx, id: CampaignId): Promise<BulkMail> {
  const ctx = await findCtxOfCampaign(base, id)
  const { html, text } = await previewCampaign(ctx, id, {})
  const { render } = await loadCampaignRenderer(ctx, id)
  const [rendered] = await render([await createExampleRecipient(ctx)])
  if (!rendered || 'fault' in rendered)
    throw new AppError('wrong_state', `The campaign could not be rendered: ${rendered?.fault.message ?? ''}`)
  const { from, headers = {} } = rendered.mail
  const domain = mailDomain(from.address).toLowerCase()
  const row = await findDomainByName(ctx, domain)
  const { sent, complained } = await readStats(ctx, id)
  return {
    from: from.address,
    headers,
    html: html ?? '',
    text,
    returnPath: (await returnPathOf(ctx, domain)) ?? domain,
    dkimRecord: row && recordsOf(row, ctx.settings)[0],
    isSigned: row?.status === 'VERIFIED',
    sent,
    complained,
  }
}

async function findCtxOfCampaign(base: BaseCtx, id: CampaignId): Promise<Ctx> {
  const [campaign] = await base.db
    .select({ workspaceId: campaigns.workspaceId })
    .from(campaigns)
    .where(eq(campaigns.id, id))
  if (!campaign) throw notFound('Campaign')
  return { ...base, workspaceId: campaign.workspaceId, actor: { kind: 'system' } }
}
