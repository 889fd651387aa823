using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Client.Grpc;
using ProtoRpc.Protocols.Grpc.Proto;

namespace ProtoRpc.Tests.Client.Grpc;

/// <summary>The files of a reflection service, and their limits.</summary>
public static class ReflectedFilesTests
{
    [Fact]
    public static void A_file_that_is_sent_again_counts_once()
    {
        ReflectedFiles files = new("grpc://test");
        ByteString file = FileOf("a.proto", 1_000_000);

        for (long sent = 0; sent <= 2 * ReflectedFiles.MaxBytes; sent += file.Length)
        {
            Assert.Null(files.Add(AnswerOf(file), "a"));
        }

        Assert.Equal("a.proto", Assert.Single(files.Files).Name);
    }

    [Fact]
    public static void The_last_file_of_the_limit_can_be_sent_again()
    {
        ReflectedFiles files = new("grpc://test");
        ByteString[] all =
            [.. Enumerable.Range(0, ReflectedFiles.MaxFiles).Select(i => FileOf($"{i}.proto", 1))];
        files.Add(AnswerOf(all), "a");

        Assert.Null(files.Add(AnswerOf(all[^1]), "a"));
        Assert.Equal(
            "BadReflection",
            Assert.Throws<RpcException>(() => files.Add(AnswerOf(FileOf("b.proto", 1)), "b")).ErrorId);
    }

    [Fact]
    public static void More_bytes_than_the_limit_are_an_error()
    {
        ReflectedFiles files = new("grpc://test");
        files.Add(AnswerOf(FileOf("a.proto", (int)(ReflectedFiles.MaxBytes / 2))), "a");

        Assert.Equal(
            "BadReflection",
            Assert.Throws<RpcException>(() => files.Add(
                AnswerOf(FileOf("b.proto", (int)(ReflectedFiles.MaxBytes / 2))), "b")).ErrorId);
    }

    private static ByteString FileOf(string name, int length) => new FileDescriptorProto
    {
        Name = name,
        SourceCodeInfo = new SourceCodeInfo
        {
            Location =
            {
                new SourceCodeInfo.Types.Location { LeadingComments = new string('x', length) },
            },
        },
    }.ToByteString();

    private static ReflectionAnswer AnswerOf(params ByteString[] files) => new(
        new ServerReflectionResponse
        {
            FileDescriptorResponse = new FileDescriptorResponse { FileDescriptorProto = { files } },
        },
        Error: null);
}
