using ProtoRpc.Protocols.Headers;
using ProtoRpc.Server.Native;

namespace ProtoRpc.Tests.Server;

/// <summary>A message in parts that the table drops while a part of it comes.</summary>
public static class DroppedTransferTests
{
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public static void The_sender_is_told_to_send_it_again(bool isLast)
    {
        Transfer transfer = new("ann", "Say", totalBytes: 0, memoryBytes: 1000, new(0));
        transfer.Dispose();

        RpcException error = Assert.Throws<RpcException>(isLast
            ? transfer.RequireComplete
            : () => transfer.Append(new RpcMultiPartRequest { MethodName = "Say" }));

        Assert.Equal((RpcStatusCode.InvalidArgument, "BadPart"), (error.Code, error.ErrorId));
        Assert.Contains("Send the whole message again", error.Message, StringComparison.Ordinal);
    }
}
