import fc from 'fast-check'

const unit = fc.oneof(fc.nat(0x7f), fc.nat(0xff), fc.nat(0xffff)).map((code) => String.fromCharCode(code))

/** Any UTF-16 units, halves of pairs too. The unit `binary` of fast-check takes a second to set up. */
export function anyText(maxLength: number): fc.Arbitrary<string> {
  return fc.string({ unit, maxLength })
}
