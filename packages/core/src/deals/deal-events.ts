import { defineEvent } from '../events/event-definition.ts'
import { Deal, MovedDeal } from './deals.schema.ts'

export const dealCreated = defineEvent('deal.created', Deal)
export const dealUpdated = defineEvent('deal.updated', Deal)
export const dealWon = defineEvent('deal.won', Deal)
export const dealLost = defineEvent('deal.lost', Deal)
export const dealDeleted = defineEvent('deal.deleted', Deal)
export const dealStageChanged = defineEvent('deal.stage_changed', MovedDeal)
