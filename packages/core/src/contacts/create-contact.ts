import { type Ctx, inTransaction } from '../request/context.ts'
import { AppError } from '../kernel/errors.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { type Asked, writtenTogether } from '../request/written-together.ts'
import { alreadyExists, findContactByEmail } from './contact-address.ts'
import { beginningOfJson, showContact } from './contact-record.ts'
import { insertAndTell } from './contact-statements.ts'
import type { Contact, ContactInput } from './contacts.schema.ts'
import { checkAgainst, type CustomFields, holdCustomFields, mergeCustomValues } from './custom-fields/custom-fields.ts'

/**
 * Creates a contact and tells `contact.created`. An address that the workspace has already is a conflict naming whose.
 * What one workspace asks for at the same time is written together.
 */
export async function createContact(ctx: Ctx, input: ContactInput): Promise<Contact> {
  const created = await createTogether(ctx, input)
  if (created) return created
  // Not together with the others: they are created by now, whatever becomes of this.
  throw alreadyExists(await findContactByEmail(ctx, input.email))
}

const createTogether = writtenTogether<ContactInput, Contact | undefined>((ctx, asked) =>
  // One statement is a transaction by itself.
  fieldsOf(asked).length === 0 ? insertContacts(ctx, asked) : inTransaction(ctx, (ctx) => insertContacts(ctx, asked)),
)

/** Creates a contact and tells so, in the caller's transaction. Undefined when the address is taken. */
export async function insertContact(ctx: Ctx, input: ContactInput): Promise<Contact | undefined> {
  const [answer] = await insertContacts(ctx, [{ ctx, input }])
  if (answer instanceof Error) throw answer
  return answer
}

/** Each in its place: undefined when the address is taken. */
async function insertContacts(
  ctx: Ctx,
  asked: readonly Asked<ContactInput>[],
): Promise<(Contact | AppError | undefined)[]> {
  const fields = await holdCustomFields(ctx, fieldsOf(asked))
  const news = asked.map((one) => toNew(fields, one))
  const rows = news.filter((made) => !(made instanceof AppError))
  const inserted = await insertAndTell(ctx.db, { workspaceId: uuidOf(ctx.workspaceId), rows: JSON.stringify(rows) })
  const contacts = new Map(inserted.map((read) => [read.id, showContact(read)]))
  return news.map((made) => (made instanceof AppError ? made : contacts.get(made.id)))
}

const fieldsOf = (asked: readonly Asked<ContactInput>[]) => [
  ...new Set(asked.flatMap(({ input }) => Object.keys(input.customFieldValues ?? {}))),
]

/** As the statement takes it. */
function toNew(fields: CustomFields, { ctx, input }: Asked<ContactInput>) {
  try {
    const id = newId('con')
    const contact = {
      email: input.email,
      firstName: input.firstName ?? '',
      lastName: input.lastName ?? '',
      phone: input.phone ?? null,
      company: input.company ?? null,
      customFieldValues: mergeCustomValues({}, checkAgainst(fields, input.customFieldValues ?? {})),
      tags: input.tags ?? [],
      source: input.source ?? null,
    }
    return {
      ...contact,
      id: uuidOf(id),
      beginning: beginningOfJson({ ...contact, id, emailSubscribedStatus: 'NONE', lastActivityAt: null }),
      requestId: ctx.requestId,
      traceparent: ctx.traceparent ?? null,
    }
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}
