import { defineEvent } from '../events/event-definition.ts'
import { disabledExample, Webhook } from './webhooks.schema.ts'

export const webhookTest = defineEvent('webhook.test', Webhook)
/** Emitted to the other webhooks of the workspace when a worker disables a webhook. */
export const webhookDisabled = defineEvent('webhook.disabled', Webhook, disabledExample)
