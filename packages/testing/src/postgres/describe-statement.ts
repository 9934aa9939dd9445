import type pg from 'pg'

interface Description {
  /** The OIDs of the types of the parameters. */
  parameterTypes: number[]
  columns: { name: string; type: number }[]
}

/** Describes a statement: PostgreSQL parses it, but does not run it. Rejects if the statement is invalid. */
export function describeStatement(client: pg.ClientBase, text: string): Promise<Description> {
  const { promise, resolve, reject } = Promise.withResolvers<Description>()
  const description: Description = { parameterTypes: [], columns: [] }
  const onParameters = ({ dataTypeIDs }: { dataTypeIDs: number[] }) => (description.parameterTypes = dataTypeIDs)
  client.query({
    submit(connection: pg.Connection) {
      connection.once('parameterDescription', onParameters)
      connection.parse({ name: '', text, types: [] }, true)
      connection.describe({ type: 'S', name: '' }, true)
      connection.sync()
    },
    handleRowDescription({ fields }: { fields: pg.FieldDef[] }) {
      description.columns = fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID }))
    },
    handleError(error: Error, connection: pg.Connection) {
      connection.off('parameterDescription', onParameters)
      reject(error)
    },
    // Ignored after an error.
    handleReadyForQuery: () => resolve(description),
  } as pg.Submittable)
  return promise
}
