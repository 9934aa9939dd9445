import { defineEvent } from '../events/event-definition.ts'
import { Subscription } from './subscriptions.schema.ts'

export const subscriptionCreated = defineEvent('subscription.created', Subscription, {
  status: 'PENDING',
  confirmedAt: null,
})
export const subscriptionConfirmed = defineEvent('subscription.confirmed', Subscription)
export const subscriptionUnsubscribed = defineEvent('subscription.unsubscribed', Subscription, {
  status: 'UNSUBSCRIBED',
  unsubscribedAt: '2026-11-27T19:20:05.731Z',
})
