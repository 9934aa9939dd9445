import { readCustomField, removeCustomField } from '../../custom-fields/custom-fields.ts'
import { customValues } from '../../events/changes.ts'
import { updateTypes } from './check-filter.ts'
import type { CustomFieldId } from '../../kernel/ids.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { disableWebhooksByField, lockWebhooksByField } from '../../webhooks/webhooks.ts'

/**
 * Deletes a custom field, and disables the webhooks whose filter names it. Webhooks are locked first, as by their update:
 * it locks the custom fields of the filter.
 */
export function deleteCustomField(ctx: Ctx, id: CustomFieldId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const { object, key } = await readCustomField(ctx, id)
    const field = { eventType: updateTypes[object], field: `${customValues}.${key}` }
    await lockWebhooksByField(ctx, field)
    await removeCustomField(ctx, id)
    await disableWebhooksByField(ctx, field, `The custom field "${key}" of its filter was deleted`)
  })
}
