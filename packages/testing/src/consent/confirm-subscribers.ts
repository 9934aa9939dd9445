import type { ContactId, ListId } from '@rapport/core/kernel/ids.ts'
import type { Subscription } from '@rapport/core/consent/subscriptions.schema.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { addSubscriber } from '@rapport/core/lists/subscribers.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { timestampAt } from '@rapport/core/kernel/values/timestamps.ts'

/** A subscription as a row, ended without any suppression if its status says so. */
export const subscriptionRow = (
  { workspaceId }: Ctx,
  key: { listId: ListId; contactId: ContactId },
  status: Subscription['status'],
) => ({
  workspaceId,
  ...key,
  status,
  ownStatus: status === 'PENDING' ? ('PENDING' as const) : ('CONFIRMED' as const),
  ownStatusAt: timestampAt(0),
})

/** Confirms contacts on a list, except those whom an error refuses, such as opted-out ones. */
export async function confirmSubscribers(
  ctx: Ctx,
  { listId, contacts }: { listId: ListId; contacts: readonly { id: ContactId; email?: string }[] },
): Promise<void> {
  for (const { id } of contacts)
    await addSubscriber(ctx, listId, { contactId: id, status: 'CONFIRMED' }).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error
    })
}
