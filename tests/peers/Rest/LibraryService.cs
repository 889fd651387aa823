using Google.Api;
using Google.Protobuf;
using Grpc.Core;
using ProtoRpc.TestServers.Rest;

namespace ProtoRpc.Peers.Rest;

/// <summary>The service of rest.proto as Grpc.AspNetCore has it; its replies have the method and the
/// request, as those of <see cref="RestServer"/>.</summary>
internal class LibraryService : Library.LibraryBase
{
    public override Task<Reply> Root(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> GetShelf(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> GetMine(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> DeleteShelf(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> CreateShelf(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> ListShelves(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> GetBook(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> ArchiveBook(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> UpdateBook(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> ReadFile(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> StatFile(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> Undelete(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> Anything(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> Typed(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> SetTags(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> SetLabels(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> SetInners(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override async Task<Reply> GetTags(Request request, ServerCallContext context)
    {
        Reply reply = await Echo(request, context);
        reply.Tags.Add(request.Tags);
        return reply;
    }

    public override Task<Reply> GetRequest(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override Task<Reply> Fail(Request request, ServerCallContext context) =>
        throw new global::Grpc.Core.RpcException(new Status((StatusCode)request.Number, "as you like"));

    public override Task<Reply> Purge(Request request, ServerCallContext context) =>
        Echo(request, context);

    public override async Task Watch(
        Request request, IServerStreamWriter<Reply> replies, ServerCallContext context)
    {
        for (int i = 1; i <= request.Number; i++)
        {
            await replies.WriteAsync(new Reply { Tags = { $"{i}" } });
        }

        if (request.HasMaybe)
        {
            throw new global::Grpc.Core.RpcException(new Status(StatusCode.Aborted, "enough"));
        }
    }

    public override Task<Reply> Upload(FileRequest request, ServerCallContext context) =>
        Task.FromResult(new Reply { Method = "Upload", File = request });

    public override Task<HttpBody> Download(Request request, ServerCallContext context) =>
        Task.FromResult(new HttpBody
        {
            ContentType = "text/x-name",
            Data = ByteString.CopyFromUtf8(request.Name),
        });

    public override async Task DownloadParts(
        Request request, IServerStreamWriter<HttpBody> replies, ServerCallContext context)
    {
        for (int i = 1; i <= request.Number; i++)
        {
            await replies.WriteAsync(new HttpBody
            {
                ContentType = i == 1 ? "text/x-parts" : "",
                Data = ByteString.CopyFromUtf8($"{i};"),
            });
        }
    }

    private static Task<Reply> Echo(Request request, ServerCallContext context) => Task.FromResult(
        new Reply { Method = context.Method.Split('/')[^1], Request = request });
}
