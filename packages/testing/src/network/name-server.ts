/** A DNS server for tests, over UDP. */
import { createSocket } from 'node:dgram'

export type NameServer = Awaited<ReturnType<typeof startNameServer>>

const recordTypes = { A: 1, TXT: 16 } as const

/**
 * Serves A and TXT records. Names under `.invalid` do not exist; queries for other unknown names get no response, or
 * with `denyUnknown` the response that the name does not exist.
 */
export async function startNameServer({ denyUnknown = false } = {}) {
  const socket = createSocket('udp4')
  const [addressLists, counts] = [new Map<string, (readonly string[])[]>(), new Map<string, number>()]
  const texts = new Map<string, readonly string[]>()

  function addressesOf(name: string): Buffer[] {
    const known = addressLists.get(name) ?? []
    const count = counts.get(name) ?? 0
    counts.set(name, count + 1)
    const addresses = known[Math.min(count, known.length - 1)] ?? []
    return addresses.map((ip) => Buffer.from(ip.split('.').map(Number)))
  }
  socket.on('message', (query, { address, port }) => {
    const { name, end } = readName(query)
    const type = query.readUInt16BE(end)
    const isKnown = addressLists.has(name) || texts.has(name)
    if (!isKnown && !denyUnknown && !name.endsWith('.invalid')) return
    const values =
      type === recordTypes.A
        ? addressesOf(name)
        : type === recordTypes.TXT
          ? (texts.get(name) ?? []).map(encodeText)
          : []
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2)
    head.writeUInt16BE(values.length, 6)
    // The response repeats none of the query's additional records, such as the EDNS buffer size.
    head.writeUInt32BE(0, 8)
    const records = values.map((value) => toRecord(type, value))
    socket.send(Buffer.concat([head, query.subarray(12, end + 4), ...records]), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${socket.address().port}`,
    /** Sets the addresses of a name, one list per query; the last list is repeated. */
    setAddresses: (name: string, lists: (readonly string[])[]) => void addressLists.set(name, lists),
    setTextRecords: (name: string, ...records: string[]) => void texts.set(name, records),
    countQueries: (name: string) => counts.get(name) ?? 0,
    resetCounts: () => counts.clear(),
    close: () => socket.close(),
  }
}

/** A record for the name in the query, with a TTL of 0. */
function toRecord(type: number, value: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, value.length >> 8, value.length & 255]),
    value,
  ])
}

/** Encodes a text as pieces of at most 255 bytes, each prefixed with its length. */
function encodeText(text: string): Buffer {
  const pieces = text.match(/.{1,255}/gs) ?? ['']
  return Buffer.concat(pieces.flatMap((piece) => [Buffer.from([piece.length]), Buffer.from(piece)]))
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}
