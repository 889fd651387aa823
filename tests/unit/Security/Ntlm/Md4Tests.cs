using System.Text;
using ProtoRpc.Security.Ntlm;

namespace ProtoRpc.Tests.Security.Ntlm;

public static class Md4Tests
{
    private const int HashSize = 16;

    // RFC 1320 appendix A.5.
    [Theory]
    [InlineData("", "31d6cfe0d16ae931b73c59d7e0c089c0")]
    [InlineData("a", "bde52cb31de33e46245e05fbdbd6fb24")]
    [InlineData("abc", "a448017aaf21d8525fc10ae87aa6729d")]
    [InlineData("message digest", "d9130a8164549fe818874806e1c7014b")]
    [InlineData("abcdefghijklmnopqrstuvwxyz", "d79e1c308aa5bbcdeea8ed63df412da9")]
    [InlineData(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "043f8582f241db351ce627e153e7f0e4")]
    [InlineData(
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
        "e33b4ddc9c38f2199c3e7b164fcc0536")]
    public static void Hashes_as_the_standard_says(string text, string expected)
    {
        byte[] hash = new byte[HashSize];

        Md4.Hash(Encoding.ASCII.GetBytes(text), hash);

        Assert.Equal(expected, Convert.ToHexStringLower(hash));
    }

    [Fact]
    public static void Every_length_around_a_block_has_a_hash_of_its_own()
    {
        HashSet<string> hashes = [];
        for (int length = 0; length <= 200; length++)
        {
            byte[] hash = new byte[HashSize];
            Md4.Hash(new byte[length], hash);
            hashes.Add(Convert.ToHexString(hash));
        }

        Assert.Equal(201, hashes.Count);
    }
}
