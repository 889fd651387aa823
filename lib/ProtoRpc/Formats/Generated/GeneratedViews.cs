using Google.Protobuf;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>Shows generated messages to a writer as dynamic ones: each while it is written, and not the
/// messages in it.</summary>
/// <remarks>For one run of writing.</remarks>
/// <param name="showUnknown">Whether unknown fields are shown.</param>
/// <param name="refuseIncomplete">Throws, because a required field is missing.</param>
internal sealed class GeneratedViews(bool showUnknown, Action refuseIncomplete)
{
    private readonly Dictionary<MessageLayout, Pool> _pools = [];
    private Pool? _last;

    /// <summary>Shows a message until its view is given back.</summary>
    public DynamicMessage Load(MessageLayout layout, IMessage message)
    {
        Pool pool = PoolOf(layout);
        DynamicMessage view = pool.Free.TryPop(out DynamicMessage? free) ? free : new DynamicMessage(layout);
        pool.Type.Load(message, view);
        if (showUnknown)
        {
            pool.Type.LoadUnknown(message, view);
        }
        if (layout.Required.Length > 0 && !RequiredFields.HasOwn(view))
        {
            refuseIncomplete();
        }
        return view;
    }

    /// <summary>Takes a view back.</summary>
    public void Release(DynamicMessage view)
    {
        view.Scalars.Clear();
        view.References.Clear();
        view.ClearUnknownFields();
        PoolOf(view.Layout).Free.Push(view);
    }

    private Pool PoolOf(MessageLayout layout)
    {
        if (_last is { } last && last.Type.Layout == layout)
        {
            return last;
        }
        if (!_pools.TryGetValue(layout, out Pool? pool))
        {
            pool = new Pool(GeneratedType.Of(layout)!);
            _pools.Add(layout, pool);
        }
        return _last = pool;
    }

    private sealed record Pool(GeneratedType Type)
    {
        public Stack<DynamicMessage> Free { get; } = new();
    }
}
