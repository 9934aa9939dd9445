/**
 * Facts about addresses, in 9 bytes for each, so that a list of millions fits into memory. The key of an address is 62 bits
 * of its SHA-256 hash: among a million addresses, two collide with a probability of one to ten million.
 */
import { hash } from 'node:crypto'
import { type Word, words } from './source-words.ts'

export interface AddressTable {
  readonly size: number
  /** The position of an address; undefined if the source does not have it. */
  find(email: string): number | undefined
  wordOf(position: number): Word
  /** Facts about the address here, as bits. */
  facts: Uint8Array
}

export interface AddressCollector {
  add(email: string, word: Word): void
  /** With the last word of each address, in the order of `words`. */
  complete(): AddressTable
}

/** The two lowest bits of a key are the word, so that sorting brings the words of an address together. */
const wordBits = 3n

export function collectAddresses(): AddressCollector {
  let keys = new BigUint64Array(1_024)
  let count = 0
  return {
    add(email, word) {
      if (count === keys.length) {
        const larger = new BigUint64Array(count * 2)
        larger.set(keys)
        keys = larger
      }
      keys[count++] = keyOf(email) | BigInt(words.indexOf(word))
    },
    complete() {
      const sorted = keys.subarray(0, count).toSorted()
      const last = sorted.filter((key, at) => key >> 2n !== (sorted[at + 1] ?? ~key) >> 2n)
      return createTable(last)
    },
  }
}

function createTable(keys: BigUint64Array): AddressTable {
  return {
    size: keys.length,
    facts: new Uint8Array(keys.length),
    find(email) {
      const key = keyOf(email)
      let [low, high] = [0, keys.length]
      while (low < high) {
        const middle = (low + high) >>> 1
        if ((keys[middle] ?? 0n) < key) low = middle + 1
        else high = middle
      }
      return (keys[low] ?? ~key) >> 2n === key >> 2n ? low : undefined
    },
    wordOf: (position) => words[Number((keys[position] ?? 0n) & wordBits)] ?? 'refused',
  }
}

const keyOf = (email: string) => hash('sha256', email.toLowerCase(), 'buffer').readBigUInt64BE() & ~wordBits
