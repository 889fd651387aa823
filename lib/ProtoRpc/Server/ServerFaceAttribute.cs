using System.Reflection;

namespace ProtoRpc.Server;

/// <summary>Stands at the head of a face's file, and brings it to every server: so a new way to serve is a
/// file of its own, and no other one knows it. Faces with options of their own, as those of ASP.NET Core, are
/// brought by who has the options.</summary>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal abstract class ServerFaceAttribute : Attribute
{
    /// <summary>The faces of this assembly.</summary>
    public static IReadOnlyList<IServerFace> All { get; } =
    [
        .. typeof(ServerFaceAttribute).Assembly.GetCustomAttributes<ServerFaceAttribute>()
            .Select(attribute => attribute.Create()),
    ];

    protected abstract IServerFace Create();
}

/// <inheritdoc/>
/// <typeparam name="TFace">The face.</typeparam>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal sealed class ServerFaceAttribute<TFace> : ServerFaceAttribute
    where TFace : IServerFace, new()
{
    protected override IServerFace Create() => new TFace();
}
