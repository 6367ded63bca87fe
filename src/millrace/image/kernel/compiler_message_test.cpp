#include "millrace/image/kernel/compiler_message.h"
#include "millrace/image/kernel/kernel_testing.h"

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

TEST(CompilerMessages, comeAsTheyWereSentHoweverTheyAreCut) {
  const std::string text = "some text";
  auto sent = pack_message(MessageKind::refusal, text);
  const auto second = pack_message(MessageKind::ready, "");
  sent.insert(sent.end(), second.begin(), second.end());
  for (std::size_t cut = 0; cut <= sent.size(); ++cut) {
    std::vector<std::byte> received(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(cut));
    std::vector<Message> messages;
    const auto take_all = [&] {
      while (true) {
        auto message = take_message(received);
        ASSERT_TRUE(message) << message.error().message;
        if (!*message) return;
        messages.push_back(**message);
      }
    };
    take_all();
    received.insert(received.end(), sent.begin() + static_cast<std::ptrdiff_t>(cut), sent.end());
    take_all();
    ASSERT_EQ(messages.size(), 2U) << cut;
    EXPECT_EQ(messages[0].kind, MessageKind::refusal);
    EXPECT_EQ(messages[0].text(), text);
    EXPECT_EQ(messages[1].kind, MessageKind::ready);
    EXPECT_TRUE(received.empty());
  }
}

TEST(CompilerMessages, neverComeWithDamagedContent) {
  const auto sent = pack_message(MessageKind::object, "machine code");
  for (std::size_t i = 0; i < sent.size(); ++i) {
    auto received = sent;
    received[i] ^= std::byte{0x80};
    const auto message = take_message(received);
    // The result is nothing, an Error or a message of another kind, never different content.
    if (message && *message) {
      EXPECT_EQ((*message)->text(), "machine code") << i;
    }
  }
}

TEST(CompilerMessages, areBoundedHoweverLongTheyClaimToBe) {
  auto received = pack_message(MessageKind::object, "");
  constexpr std::size_t length_at = 12;
  for (std::size_t i = 0; i < 4; ++i)
    received[length_at + i] = std::byte{0xff};
  EXPECT_FALSE(take_message(received));
}

TEST(CompilerRequests, areReadAsTheyWereWritten) {
  const KernelSpec spec = kernel_chain({"rotate", "discretise"});
  for (const machine::Isa isa : machine::all_isas()) {
    const auto request = parse_request(request_text(spec, isa));
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->spec.key(), spec.key());
    EXPECT_EQ(request->isa, isa);
  }
  for (const char* nonsense : {"", "avx2", "mmx blur(i0)", "avx2 blur", " blur(i0)"})
    EXPECT_FALSE(parse_request(nonsense)) << nonsense;
}

}  // namespace
}  // namespace millrace::image
