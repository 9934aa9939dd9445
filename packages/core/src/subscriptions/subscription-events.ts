import { defineEvent } from '../events/event-definition.ts'
import { Subscription } from './subscriptions.schema.ts'

export const subscriptionCreated = defineEvent('subscription.created', Subscription)
export const subscriptionConfirmed = defineEvent('subscription.confirmed', Subscription)
export const subscriptionUnsubscribed = defineEvent('subscription.unsubscribed', Subscription)
