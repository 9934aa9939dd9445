import { defineUpdate } from '../events/changes.ts'
import { defineEvent } from '../events/event-definition.ts'
import { Deal, MovedDeal } from './deals.schema.ts'

const later = '2026-11-27T14:02:11.508Z'

export const dealCreated = defineEvent('deal.created', Deal)
export const dealUpdated = defineUpdate('deal.updated', Deal, { valueCents: 1_750_000, updatedAt: later })
export const dealWon = defineEvent('deal.won', Deal, { status: 'WON', closedAt: later, updatedAt: later })
export const dealLost = defineEvent('deal.lost', Deal, { status: 'LOST', closedAt: later, updatedAt: later })
export const dealDeleted = defineEvent('deal.deleted', Deal)
export const dealStageChanged = defineEvent('deal.stage_changed', MovedDeal, { updatedAt: later })
