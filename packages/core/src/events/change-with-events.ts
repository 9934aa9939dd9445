/** Limits the memory for one batch: the notes of a task may have 20,000 characters. */
const batchSize = 200

interface Change<Row> {
  /** Changes at most `limit` of the remaining rows and returns them. */
  changeBatch: (limit: number) => Promise<readonly Row[]>
  /** Emits the events of the changed rows. */
  emit: (rows: readonly Row[]) => Promise<void>
}

/**
 * Changes any number of records in batches, with their events. Call it in the transaction of the change that
 * affects these records, such as the deletion of their contact.
 */
export async function changeWithEvents<Row>({ changeBatch, emit }: Change<Row>): Promise<void> {
  for (let isLast = false; !isLast; ) {
    const rows = await changeBatch(batchSize)
    await emit(rows)
    isLast = rows.length < batchSize
  }
}
