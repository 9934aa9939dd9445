/**
 * What is simulated of emails to one person: they wait, while calls erase, suppress, merge and rename their recipients,
 * pause the template, and repeat a call with one key.
 */
import { updateContact } from '@rapport/core/contacts/update-contact.ts'
import type { Database } from '@rapport/core/db/client.ts'
import { createEmail } from '@rapport/core/emails/create-email.ts'
import { previewTemplate } from '@rapport/core/emails/email-mail.ts'
import { updateTemplate } from '@rapport/core/emails/templates/templates.ts'
import { type ContactId, idOf, newId, type TemplateId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import { mergeContacts } from '@rapport/core/operations/contacts/merge-contacts.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { runIdempotently } from '@rapport/core/request/idempotency.ts'
import { createSuppression } from '@rapport/core/suppressions/suppressions.ts'
import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import type { TraceEntry } from '../tasks.ts'
import { isCommitOf, isLateCommitOf, listClaimedAfter } from '../trace-checks.ts'
import type { Scenario, Sent, SimulatedCall } from '../world.ts'

/** Those whom an email waits for. */
const waiting = ['erased', 'blocked', 'merged', 'old', 'undisturbed'].map((name) => `${name}@example.com`)

/** The call after which no claim leads to an email to the address. */
const forbidden: Record<string, string> = {
  erase: 'erased@example.com',
  block: 'blocked@example.com',
  merge: 'merged@example.com',
  rename: 'old@example.com',
  'block-new': 'new@example.com',
}

export async function prepareEmails(database: Database): Promise<Scenario> {
  const ctx = await createTestCtx(database.db)
  const { id: templateId } = await createTestTemplate(ctx)
  // Fills the memory of the process: a simulated process that is killed would never end a query that others wait for.
  await previewTemplate(ctx, templateId, {})
  const contactIds = new Map<string, ContactId>()
  for (const email of waiting) {
    const { contactId } = await createTestEmail(ctx, templateId, { to: { email } })
    contactIds.set(email, contactId ?? newId('con'))
  }
  const { id: remaining } = await createTestContact(ctx, { email: 'remaining@example.com' })
  const idOfContact = (email: string) => contactIds.get(`${email}@example.com`) ?? newId('con')
  const calls: SimulatedCall[] = [
    { name: 'erase', call: (ctx) => deleteContact(ctx, idOfContact('erased')) },
    { name: 'block', call: (ctx) => createSuppression(ctx, { email: 'blocked@example.com', reason: 'MANUAL' }) },
    {
      name: 'opt-out',
      call: (ctx) => createSuppression(ctx, { email: 'undisturbed@example.com', reason: 'OPTED_OUT' }),
    },
    { name: 'merge', call: (ctx) => mergeContacts(ctx, remaining, { contactId: idOfContact('merged') }) },
    { name: 'rename', call: (ctx) => updateContact(ctx, idOfContact('old'), { email: 'new@example.com' }) },
    { name: 'block-new', call: (ctx) => createSuppression(ctx, { email: 'new@example.com', reason: 'MANUAL' }) },
    { name: 'pause', call: (ctx) => updateTemplate(ctx, templateId, { status: 'PAUSED' }) },
    { name: 'repeat', call: (ctx) => sendOnce(ctx, templateId), isRepeated: true },
    { name: 'repeat-again', call: (ctx) => sendOnce(ctx, templateId), isRepeated: true },
  ]
  return {
    ctx,
    calls,
    isRecoveredAtOnce: true,
    /** A user activates the template. */
    async finish() {
      await updateTemplate(ctx, templateId, { status: 'ACTIVE' })
    },
    check: async ({ sent }, trace) => [
      ...checkAddresses(sent, trace),
      ...(await checkOutcomes(database, ctx, { sent, trace })),
    ],
  }
}

/** Two calls with one key. A refusal, while the template is paused, is recorded too. */
function sendOnce(ctx: Ctx, templateId: TemplateId) {
  const failed = { status: 409, location: null, body: '{}' }
  return runIdempotently(ctx, { key: 'repeat', hash: 'repeat', toResponse: toRefusal }, async (ctx) => {
    const { id } = await createEmail(ctx, {
      templateId,
      to: { email: 'repeated@example.com' },
      data: { resetUrl: 'https://shop.example/reset/planted-link' },
      tags: [],
    })
    return { status: 202, location: `/emails/${id}`, body: '{}' }
  })

  function toRefusal(error: unknown) {
    return (error as { code?: string }).code === 'wrong_state' ? failed : undefined
  }
}

/** No email goes to an address that is suppressed, or no longer the recipient's. */
function checkAddresses(sent: readonly Sent[], trace: readonly TraceEntry[]): string[] {
  return Object.entries(forbidden).flatMap(([call, address]) =>
    listClaimedAfter(trace.findLastIndex(isCommitOf(call)), sent, trace)
      .filter(({ subject }) => subject === address)
      .map(() => `${address} was claimed after the call ${call}`),
  )
}

interface EmailState {
  id: string
  status: string
  sealed_data: string | null
  address: string | null
}

/** Each email that is not erased has one outcome, which is that of its mail, and nothing is left of its values. */
async function checkOutcomes(
  { pool }: Database,
  { workspaceId }: Ctx,
  { sent, trace }: { sent: readonly Sent[]; trace: readonly TraceEntry[] },
): Promise<string[]> {
  const { rows } = await pool.query<EmailState>(
    `select m.id, m.status, m.sealed_data, c.email as address from emails m
     left join contacts c on c.workspace_id = m.workspace_id and c.id = m.contact_id where m.workspace_id = $1`,
    [uuidOf(workspaceId)],
  )
  const { rows: repeated } = await pool.query<{ type: string; count: number }>(
    `select type, count(*)::int from events where workspace_id = $1 and type like 'email.%'
     group by type, data ->> 'id' having count(*) > 1`,
    [uuidOf(workspaceId)],
  )
  const mayHappen = (call: string) => trace.some(isCommitOf(call)) || trace.some(isLateCommitOf(call))
  const isBlocked = ['block', 'block-new', 'erase'].some(mayHappen)
  const [least, most] = [waiting.length - Number(mayHappen('erase')), waiting.length + 1]
  return [
    ...rows.flatMap(({ id, status, sealed_data, address }) => {
      const own = sent.filter(({ messageId }) => messageId?.includes(idOf('mai', id)))
      const arrived = own.filter(({ hasArrived }) => hasArrived).length
      const name = address ?? 'an erased person'
      return [
        arrived > 1 && `${name} got one email ${arrived} times`,
        status === 'PENDING' && `${name}: an email is PENDING`,
        sealed_data !== null && `${name}: the values of an email are left`,
        status === 'SENT' && arrived === 0 && `${name}: an email is SENT, but did not arrive`,
        /FAILED|SKIPPED/.test(status) && arrived > 0 && `${name}: an email is ${status}, but arrived`,
        status === 'SKIPPED' && !isBlocked && `${name}: an email is SKIPPED, but the address is not suppressed`,
      ].filter((text) => text !== false)
    }),
    ...repeated.map(({ type, count }) => `there are ${count} events ${type} of one email`),
    ...(rows.length < least || rows.length > most ? [`there are ${rows.length} emails`] : []),
  ]
}
