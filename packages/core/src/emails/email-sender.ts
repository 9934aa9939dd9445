/**
 * The sender of the emails from a template. What it needs of the workspace and its domains takes several queries, so a
 * process reads it at most every five seconds: a change takes effect after this time, and a permission at once.
 */
import { LRUCache } from 'lru-cache'
import { requireSenderOf } from '../campaigns/campaigns.ts'
import { findSenderError } from '../domains/senders.ts'
import { type NamedSender, readSenderIdentity, type SenderIdentity, senderOf } from '../domains/sender-identity.ts'
import { returnPathOf } from '../domains/return-path.ts'
import type { AppError } from '../kernel/errors.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import { mailDomain, toHeaderText } from '../mail/outgoing-mail.ts'
import { defaultQuotaTtlMs } from '../quotas/quota-cache.ts'
import type { Ctx } from '../request/context.ts'
import type { Workspace } from '../workspaces/workspaces.schema.ts'
import { readWorkspace } from '../workspaces/workspaces.ts'

export interface EmailSender extends SenderIdentity {
  workspace: Pick<Workspace, 'name' | 'postalAddress' | 'locale'>
  from: { name: string; address: string }
  /** Why the workspace may not send from the address that the template names. `from` is another one then. */
  refusal: AppError | undefined
  /** The host of the return path. Undefined if the installation receives no bounces. */
  returnPathHost: string | undefined
}

const options = { max: 1_000, ttl: defaultQuotaTtlMs }
const keyOf = (workspaceId: WorkspaceId, { fromName, fromEmail }: NamedSender) =>
  JSON.stringify([workspaceId, fromName, fromEmail])

const allowed = new LRUCache<string, true>(options)

/** Throws as `requireSender` unless the workspace may send from the address, or from its own sender without one. */
export async function requireTemplateSender(ctx: Ctx, fromEmail: string | null): Promise<void> {
  const key = keyOf(ctx.workspaceId, { fromName: null, fromEmail })
  if (allowed.get(key)) return
  await requireSenderOf(ctx, { fromEmail })
  allowed.set(key, true)
}

const senders = new LRUCache<string, EmailSender, { ctx: Ctx; named: NamedSender }>({
  ...options,
  async fetchMethod(_key, _stale, { context: { ctx, named }, options }) {
    const sender = await loadSender(ctx, named)
    // A refusal fails an email, and the API may have accepted it because the sender is allowed again.
    if (sender.refusal) options.ttl = 1
    return sender
  },
})

export function readEmailSender(ctx: Ctx, named: NamedSender): Promise<EmailSender> {
  return senders.forceFetch(keyOf(ctx.workspaceId, named), { context: { ctx, named } })
}

async function loadSender(ctx: Ctx, named: NamedSender): Promise<EmailSender> {
  const workspace = await readWorkspace(ctx)
  const { name, address } = await senderOf(ctx, named, workspace)
  return {
    ...(await readSenderIdentity(ctx, address)),
    workspace,
    refusal: await findSenderError(ctx, named.fromEmail ?? workspace.fromEmail),
    from: { name: toHeaderText(name), address },
    returnPathHost: await returnPathOf(ctx, mailDomain(address)),
  }
}
