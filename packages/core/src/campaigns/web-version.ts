/** The email of a campaign as a page, the same for everybody: what is of a person is left out. */
import { and, eq, isNull, sql } from 'drizzle-orm'
import { campaigns, lists, workspaces } from '../db/schema/index.ts'
import { signPayload, verifyPayload } from '../kernel/crypto.ts'
import { invalidToken, notFound } from '../kernel/errors.ts'
import { type CampaignId, idOf, uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import { chooseMailLanguage } from '../kernel/values/languages.ts'
import { renderPreview } from '../rendering/rendering.ts'
import { type BaseCtx, type Ctx, pagesUrlOf, publicContext, requireAtHost } from '../request/context.ts'
import { workspaceSuspended } from '../request/workspace-state.ts'
import { textPropertyNames } from '../contacts/contact-properties.ts'
import { hasMailedSince } from './campaign-stats.ts'

export interface WebVersion {
  subject: string
  locale: string
  html: string | undefined
  text: string
}

interface WebVersionLink {
  workspaceId: WorkspaceId
  campaignId: CampaignId
}

const lifetimeDays = 90
const purpose = 'web version'

/** Returns the link, which is the same in all emails of the campaign. */
export function webVersionUrl(ctx: Ctx, campaignId: CampaignId): string {
  const token = signPayload(ctx.settings.keys.links, purpose, [ctx.workspaceId, campaignId].map(uuidOf))
  return `${pagesUrlOf(ctx)}/public/campaigns/${campaignId}/web?token=${token}`
}

/** Opens the token of the link. Throws `invalid_token` if it is forged or damaged. */
export function openWebVersion(base: BaseCtx, token: string): WebVersionLink {
  const payload = verifyPayload(base.settings.keys.links, purpose, token)
  if (!payload) throw invalidToken()
  const [workspace = '', campaign = ''] = payload.map(String)
  const workspaceId = idOf('wsp', workspace)
  requireAtHost(base, workspaceId)
  return { workspaceId, campaignId: idOf('cmp', campaign) }
}

/**
 * Renders the page. Throws `not_found` before the campaign is sent, 90 days after its last email, with `webVersion: false`, and if it
 * cannot be rendered without a person.
 */
export async function renderWebVersion(
  base: BaseCtx,
  { workspaceId, campaignId }: WebVersionLink,
): Promise<WebVersion> {
  const ctx = publicContext(base, workspaceId)
  const { campaign, list, workspace } = await findShown(ctx, campaignId)
  const { subject, html, text } = campaign
  const noText = Object.fromEntries(['id', 'email', ...textPropertyNames].map((name) => [name, '']))
  const values = {
    campaign: { id: campaign.id, name: campaign.name },
    list: { id: campaign.listId ?? '', name: list?.name ?? '' },
    workspace: { name: workspace.name, postalAddress: workspace.postalAddress },
    contact: { ...noText, tags: [], customFieldValues: {} },
    unsubscribeUrl: null,
    preferencesUrl: null,
    locale: chooseMailLanguage({ content: list?.locale ?? null, workspace: workspace.locale }).locale,
  }
  const recipient = { values, tracking: undefined }
  const input = { sources: { subject, html, text }, recipient, withoutEmptyLinks: true }
  const rendered = await renderPreview(workspaceId, input, ctx.settings.renderingDeadlines)
  if ('fault' in rendered) throw notFound('Page')
  return { html: undefined, ...rendered, locale: values.locale }
}

async function findShown(ctx: Ctx, campaignId: CampaignId) {
  const [found] = await ctx.db
    .select({ campaign: campaigns, list: lists, workspace: workspaces })
    .from(campaigns)
    .leftJoin(lists, and(eq(lists.workspaceId, campaigns.workspaceId), eq(lists.id, campaigns.listId)))
    .innerJoin(workspaces, eq(workspaces.id, campaigns.workspaceId))
    .where(
      and(
        eq(campaigns.workspaceId, ctx.workspaceId),
        eq(campaigns.id, campaignId),
        campaigns.webVersion,
        hasMailedSince(sql`now() - make_interval(days => ${lifetimeDays})`),
        isNull(workspaces.deletedAt),
      ),
    )
  if (!found) throw notFound('Page')
  if (found.workspace.suspendedAt !== null) throw workspaceSuspended()
  return found
}
