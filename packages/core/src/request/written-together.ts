import type { Ctx } from './context.ts'
import { memoizePerDb } from '../db/client.ts'
import { isRowSpecificError } from '../kernel/errors.ts'
import { microBatch } from '../kernel/micro-batch.ts'

/** What a request asks to be written, and on whose behalf: all of one workspace. */
export interface Asked<Input> {
  ctx: Ctx
  input: Input
}

/**
 * Makes one transaction of what a workspace's requests write at the same time; each is answered when it is there for all.
 * `write` opens it, or is one statement, and answers for each in its place, an error for what is wrong with that one
 * alone; once it is committed, nothing more may fail. When one breaks the transaction, each is written in its own. What
 * `groupOf` tells apart is never written together; it must tell workspaces apart.
 */
export function writtenTogether<Input, Answer>(
  write: (ctx: Ctx, asked: readonly Asked<Input>[]) => Promise<(Answer | Error)[]>,
  groupOf: (asked: Asked<Input>) => string = ({ ctx }) => ctx.workspaceId,
): (ctx: Ctx, input: Input) => Promise<Answer> {
  const writeGathered = memoizePerDb(() => microBatch(writeAll, groupOf))

  async function writeAll(asked: Asked<Input>[]): Promise<(Answer | Error)[]> {
    const [first] = asked
    if (!first) return []
    try {
      return await write(first.ctx, asked)
    } catch (error) {
      if (asked.length === 1 || !isRowSpecificError(error)) throw error
      const alone = asked.map((one) => writeAll([one]).catch((why: unknown) => [why as Error]))
      return (await Promise.all(alone)).flat()
    }
  }

  return async (ctx, input) => {
    const answer = await writeGathered(ctx.db)({ ctx, input })
    if (answer instanceof Error) throw answer
    return answer
  }
}
