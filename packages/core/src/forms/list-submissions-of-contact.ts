import { and, eq } from 'drizzle-orm'
import { formSubmissions } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import type { Submission } from './submissions.schema.ts'
import { type SubmissionRow, toSubmission } from './submissions.ts'

/** Returns a page of the submissions of a contact, to all forms. */
export async function listSubmissionsOfContact(
  ctx: Ctx,
  contactId: ContactId,
  query: { limit: number; cursor?: string | undefined },
): Promise<Page<Submission>> {
  const page = await readPage<SubmissionRow>(ctx, {
    name: `submissions ${contactId}`,
    query: { ...query, sort: 'createdAt' },
    ...byCreation<SubmissionRow>(formSubmissions),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(formSubmissions)
        .where(and(eq(formSubmissions.workspaceId, ctx.workspaceId), eq(formSubmissions.contactId, contactId), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toSubmission) }
}
