import { and, eq, inArray } from 'drizzle-orm'
import { forms, formSubmissions } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isLiveFormOfWorkspace } from './forms.ts'
import type { Submission } from './submissions.schema.ts'
import { type SubmissionRow, toSubmission } from './submissions.ts'

/** Returns a page of the submissions of a contact, to all forms that are not deleted. */
export async function listSubmissionsOfContact(
  ctx: Ctx,
  contactId: ContactId,
  query: { limit: number; cursor?: string | undefined },
): Promise<Page<Submission>> {
  const live = ctx.db.select({ id: forms.id }).from(forms).where(isLiveFormOfWorkspace(ctx))
  const isOfContact = and(eq(formSubmissions.workspaceId, ctx.workspaceId), eq(formSubmissions.contactId, contactId))
  const page = await readPage<SubmissionRow>(ctx, {
    name: `submissions ${contactId}`,
    query: { ...query, sort: 'createdAt' },
    ...byCreation<SubmissionRow>(formSubmissions),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(formSubmissions)
        .where(and(isOfContact, inArray(formSubmissions.formId, live), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toSubmission) }
}
