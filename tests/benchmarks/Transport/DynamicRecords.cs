namespace ProtoRpc.Benchmarks.Transport;

/// <summary>Makes dynamic messages with new records. Safe for use by many threads.</summary>
internal sealed class DynamicRecords
{
    private readonly RpcMessageInfo _type;
    private readonly RpcFieldInfo _data;
    private readonly RpcMessageInfo _record;
    private readonly RpcFieldInfo _bytes;
    private readonly RpcFieldInfo _text;
    private readonly RpcFieldInfo _number;
    private readonly RpcFieldInfo _float;
    private readonly RpcFieldInfo _time;

    public DynamicRecords(RpcMessageInfo type)
    {
        _type = type;
        _data = Field(type, "data");
        _record = _data.MessageType!;
        _bytes = Field(_record, "bytes");
        _text = Field(_record, "text");
        _number = Field(_record, "number");
        _float = Field(_record, "float");
        _time = Field(_record, "time");
    }

    /// <summary>A new message.</summary>
    public DynamicMessage Make(int records)
    {
        DynamicMessage message = new(_type);
        if (records == 0)
        {
            return message;
        }

        DynamicMessage[] data = new DynamicMessage[records];
        for (int i = 0; i < records; i++)
        {
            (byte[] bytes, string text, long time) = FreshRecords.Next();
            DynamicMessage record = new(_record);
            record.Set(_bytes, bytes);
            record.Set(_text, text);
            record.Set(_number, i);
            record.Set(_float, i * 1.5);
            record.Set(_time, time);
            data[i] = record;
        }

        message.Set(_data, data);
        return message;
    }

    /// <summary>How many records a message has.</summary>
    public int Count(DynamicMessage message) => ((System.Collections.ICollection)message.Get(_data)!).Count;

    private static RpcFieldInfo Field(RpcMessageInfo type, string name) => type.FindField(name)
        ?? throw new InvalidOperationException($"{type.FullName} has no field {name}.");
}
