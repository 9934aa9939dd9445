import type { Ctx } from '../request/context.ts'
import { emitMany } from './emit.ts'
import type { EventDefinition, EventSubject } from './event-definition.ts'

/** Limits the memory for one batch: the notes of a task may have 20,000 characters. */
const batchSize = 200

interface Change<Row, Data extends EventSubject> {
  /** Changes at most `limit` of the remaining rows and returns them. */
  changeBatch: (limit: number) => Promise<readonly Row[]>
  event: EventDefinition<Data>
  toData: (row: Row) => NoInfer<Data>
}

/**
 * Changes any number of records in batches, and emits the event of each. Call it in the transaction of the change that
 * affects these records, such as the deletion of their contact.
 */
export async function changeWithEvents<Row, Data extends EventSubject>(
  ctx: Ctx,
  { changeBatch, event, toData }: Change<Row, Data>,
): Promise<void> {
  for (let isLast = false; !isLast; ) {
    const rows = await changeBatch(batchSize)
    await emitMany(ctx, event, rows.map(toData))
    isLast = rows.length < batchSize
  }
}
