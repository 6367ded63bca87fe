// Passes descriptors over a socket, as clients that are not trusted may.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace millrace {

// Sends the text with `count` descriptors of `file` in one control message.
inline void send_descriptors(int to, std::string text, int file, std::size_t count) {
  iovec buffer{text.data(), text.size()};
  const std::vector<int> numbers(count, file);
  std::vector<char> control(CMSG_SPACE(count * sizeof(int)));
  msghdr message{};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(header), numbers.data(), count * sizeof(int));
  EXPECT_EQ(sendmsg(to, &message, MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

}  // namespace millrace
