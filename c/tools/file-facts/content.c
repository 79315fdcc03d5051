#include "content.h"

#include <stdio.h>
#include <string.h>

#include "json.h"

static const struct {
  const char *bytes;
  size_t length;
  size_t at;
  const char *kind;
} SIGNATURES[] = {
    {"\x89PNG\r\n\x1a\n", 8, 0, "PNG image"},
    {"\xff\xd8\xff", 3, 0, "JPEG image"},
    {"GIF87a", 6, 0, "GIF image"},
    {"GIF89a", 6, 0, "GIF image"},
    {"WEBP", 4, 8, "WebP image"},
    {"%PDF-", 5, 0, "PDF document"},
    {"PK\x03\x04", 4, 0, "ZIP archive"},
    {"PK\x05\x06", 4, 0, "ZIP archive"},
    {"\x1f\x8b", 2, 0, "gzip data"},
    {"\xfd"
     "7zXZ",
     6, 0, "xz data"},
    {"BZh", 3, 0, "bzip2 data"},
    {"\x28\xb5\x2f\xfd", 4, 0, "zstd data"},
    {"7z\xbc\xaf\x27\x1c", 6, 0, "7z archive"},
    {"ustar", 5, 257, "tar archive"},
    {"!<arch>\n", 8, 0, "ar archive"},
    {"SQLite format 3", 16, 0, "SQLite database"},
    {"\0asm\x01\0\0\0", 8, 0, "WebAssembly module"},
    {"\0asm\x0d\0\x01\0", 8, 0, "WebAssembly component"},
    {"\xca\xfe\xba\xbe", 4, 0, "Java class or Mach-O universal binary"},
    {"\xcf\xfa\xed\xfe", 4, 0, "Mach-O 64-bit binary"},
    {"MZ", 2, 0, "DOS or Windows executable"},
    {"\xff\xfe", 2, 0, "UTF-16 text, little endian"},
    {"\xfe\xff", 2, 0, "UTF-16 text, big endian"},
};

static void elf_kind(const unsigned char *bytes, char *out, size_t room) {
  static const struct {
    unsigned number;
    const char *name;
  } machines[] = {{3, "x86"},     {8, "MIPS"},      {21, "POWER"},   {40, "ARM"},
                  {62, "x86-64"}, {183, "AArch64"}, {243, "RISC-V"}, {258, "LoongArch"}};
  static const char *const types[] = {"file", "object", "executable", "shared object", "core dump"};
  int big = bytes[5] == 2;
  unsigned type = big ? (unsigned)bytes[16] << 8 | bytes[17] : (unsigned)bytes[17] << 8 | bytes[16];
  unsigned number =
      big ? (unsigned)bytes[18] << 8 | bytes[19] : (unsigned)bytes[19] << 8 | bytes[18];
  const char *machine = "other";
  for (size_t each = 0; each < sizeof machines / sizeof machines[0]; each++)
    if (machines[each].number == number)
      machine = machines[each].name;
  snprintf(out, room, "ELF %s-bit %s %s", bytes[4] == 2 ? "64" : "32", machine,
           type < 5 ? types[type] : types[0]);
}

/* "text", "UTF-8 text" or NULL. A sequence cut by the end of what was read is none that is wrong.
 */
static const char *text_kind(const unsigned char *bytes, size_t length, int whole) {
  const char *kind = "ASCII text";
  for (size_t at = 0; at < length;) {
    if (bytes[at] < 0x20 && strchr("\a\b\t\n\v\f\r\x1b", bytes[at]) == NULL)
      return NULL;
    if (bytes[at] == 0)
      return NULL;
    size_t size = utf8_length(bytes + at, length - at);
    if (size == 0)
      return !whole && length - at < 4 ? kind : NULL;
    if (size > 1)
      kind = "UTF-8 text";
    at += size;
  }
  return kind;
}

void content_kind(const unsigned char *bytes, size_t length, int whole, char *out, size_t room) {
  if (length == 0) {
    snprintf(out, room, "empty");
    return;
  }
  if (length >= 20 && memcmp(bytes,
                             "\x7f"
                             "ELF",
                             4) == 0) {
    elf_kind(bytes, out, room);
    return;
  }
  for (size_t each = 0; each < sizeof SIGNATURES / sizeof SIGNATURES[0]; each++) {
    size_t end = SIGNATURES[each].at + SIGNATURES[each].length;
    if (length >= end &&
        memcmp(bytes + SIGNATURES[each].at, SIGNATURES[each].bytes, SIGNATURES[each].length) == 0) {
      snprintf(out, room, "%s", SIGNATURES[each].kind);
      return;
    }
  }
  const char *text = text_kind(bytes, length, whole);
  int script = text != NULL && length > 2 && memcmp(bytes, "#!", 2) == 0;
  snprintf(out, room, "%s%s", text == NULL ? "data" : text, script ? " script" : "");
}
