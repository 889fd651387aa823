using System.Text;
using ProtoRpc.Security.Ntlm;

namespace ProtoRpc.Tests.Security.Ntlm;

public static class Rc4Tests
{
    [Theory]
    [InlineData("Key", "Plaintext", "bbf316e8d940af0ad3")]
    [InlineData("Wiki", "pedia", "1021bf0420")]
    [InlineData("Secret", "Attack at dawn", "45a01f645fc35b383552544b9bf5")]
    public static void Encrypts_as_published(string key, string text, string expected)
    {
        byte[] bytes = Encoding.ASCII.GetBytes(text);

        Rc4.Transform(Encoding.ASCII.GetBytes(key), bytes, bytes);

        Assert.Equal(expected, Convert.ToHexStringLower(bytes));
    }

    // RFC 6229, 128-bit key.
    [Fact]
    public static void The_stream_goes_on_where_it_stopped_and_begins_anew_when_told()
    {
        byte[] key = Convert.FromHexString("0102030405060708090a0b0c0d0e0f10");
        byte[] first = new byte[16];
        byte[] second = new byte[16];
        byte[] again = new byte[16];
        using Rc4 stream = new(key);

        stream.Transform(first, first);
        stream.Transform(second, second);
        stream.Rekey(key);
        stream.Transform(again, again);

        Assert.Equal("9ac7cc9a609d1ef7b2932899cde41b97", Convert.ToHexStringLower(first));
        Assert.Equal("5248c4959014126a6e8a84f11d1a9e1c", Convert.ToHexStringLower(second));
        Assert.Equal(first, again);
    }
}
