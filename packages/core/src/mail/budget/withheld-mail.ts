import { and, eq, inArray } from 'drizzle-orm'
import { lists, workspaces } from '../../db/schema/index.ts'
import type { ListId } from '../../kernel/ids.ts'
import { english } from '../../kernel/values/languages.ts'
import type { Ctx } from '../../request/context.ts'
import { toMailName } from '../mail-names.ts'
import type { Mail } from '../mails.ts'
import type { OutgoingMail } from '../outgoing-mail.ts'
import { renderServiceMail } from '../service-mail.ts'
import { listWithheld, type WithheldOfList } from './withheld-confirmations.ts'

/** Renders the email to the owners. Returns undefined if nothing is withheld any more. */
export async function renderWithheldMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const withheld = await listWithheld(ctx)
  const [workspace] = await ctx.db.select().from(workspaces).where(eq(workspaces.id, ctx.workspaceId))
  if (withheld.length === 0 || !workspace) return undefined
  const names = await readNames(ctx, withheld)
  const describe = ({ listId, count }: WithheldOfList) =>
    listId === null ? `${count} that grant tracking` : `${count} for “${names.get(listId) ?? listId}” (${listId})`
  return renderServiceMail(ctx, mail, {
    language: english,
    title: `Confirmation emails of ${toMailName(workspace.name)} are withheld`,
    paragraphs: [
      `Visitors have asked for more confirmation emails than a workspace sends in 24 hours. These wait: ${withheld.map(describe).join(', ')}. They are sent oldest first as the budget allows, for at most 24 hours. Each confirmation link that is used allows five more.`,
      'If you expected these visitors, you need not do anything, or ask the operator of the installation for a larger budget. If not, someone may be entering the addresses of other people: see which in GET /lists/{id}/subscribers?withheld=true, and close the lists that no visitor needs to join, with PATCH /lists/{id} and the body { "publicSignup": "CLOSED" }.',
      'To ask one of them at once, send POST /lists/{id}/subscribers with an API key.',
    ],
    button: { label: 'Open the API reference', url: `${ctx.settings.publicUrl}/docs` },
    small: 'Owners of the workspace receive this email, at most once a day.',
  })
}

async function readNames(ctx: Ctx, withheld: readonly WithheldOfList[]): Promise<Map<ListId, string>> {
  const ids = withheld.flatMap(({ listId }) => listId ?? [])
  if (ids.length === 0) return new Map()
  const rows = await ctx.db
    .select({ id: lists.id, name: lists.name })
    .from(lists)
    .where(and(eq(lists.workspaceId, ctx.workspaceId), inArray(lists.id, ids)))
  return new Map(rows.map(({ id, name }) => [id, toMailName(name)]))
}
