import { defineEvent } from '../events/event-definition.ts'
import { Webhook } from './webhooks.schema.ts'

export const webhookTest = defineEvent('webhook.test', Webhook)
