import { defineEvent } from '../events/event-definition.ts'
import { disabledExample, Webhook } from './webhooks.schema.ts'

export const webhookTest = defineEvent('webhook.test', Webhook)
/** Emitted when the worker disables a webhook, to the other webhooks of the workspace. */
export const webhookDisabled = defineEvent('webhook.disabled', Webhook, disabledExample)
