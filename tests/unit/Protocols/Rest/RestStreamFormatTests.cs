using System.Buffers;
using System.Text;
using ProtoRpc.Protocols.Rest;

namespace ProtoRpc.Tests.Protocols.Rest;

public static class RestStreamFormatTests
{
    [Theory]
    [InlineData(0, 1)]
    [InlineData(63, 1)]
    [InlineData(64, 0)]
    [InlineData(1000, 0)]
    public static void Replies_do_not_depend_on_how_many_bytes_arrive_at_once(int blanks, int replies)
    {
        byte[] body = Encoding.ASCII.GetBytes($"[{new string(' ', blanks)}[1]");

        (string[] whole, string end) = Read(body, body.Length);

        (string[] pieces, string endOfPieces) = Read(body, 1);
        Assert.Equal(replies, whole.Length);
        Assert.Equal(whole, pieces);
        Assert.Equal(end, endOfPieces);
    }

    // Reads a body that arrives in steps of some bytes.
    private static (string[] Items, string End) Read(byte[] body, int step)
    {
        RestStreamFormat format = new(
            MessageFormats.Json, new RestReplyNames(true, false, false, false), isLines: false,
            isGateway: false);
        List<string> items = [];
        ReadOnlySequence<byte> left = default;
        int taken = 0;
        try
        {
            for (int arrived = step; arrived <= body.Length; arrived += step)
            {
                left = new ReadOnlySequence<byte>(body, taken, arrived - taken);
                bool isEnd = arrived == body.Length;
                while (format.TryRead(ref left, isEnd, body.Length, out ReadOnlySequence<byte> item, out _))
                {
                    items.Add(Encoding.ASCII.GetString(item));
                }

                taken = arrived - (int)left.Length;
            }
        }
        catch (RpcException e)
        {
            return ([.. items], e.Message);
        }

        return ([.. items], "");
    }
}
