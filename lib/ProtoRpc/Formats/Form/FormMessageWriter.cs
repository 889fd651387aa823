using System.Buffers;
using System.Collections;
using System.Net;
using System.Text;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Form;

/// <summary>One run of writing a message as a form.</summary>
internal sealed class FormMessageWriter(
    IBufferWriter<byte> output, RpcMessageInfo root, GeneratedViews? views, FormatOptions options)
    : FormatWriter(root, views, options)
{
    private bool _isFirst = true;

    public void Write(DynamicMessage message)
    {
        foreach (FieldLayout field in message.Layout.Shown.Concat(message.Layout.Extensions))
        {
            if (!IsWritten(message, field))
            {
                continue;
            }
            Path.PushField(field.Info.Name);
            if (field.IsMap || (field.IsMessage && !WellKnownText.IsOne(field.Message.WellKnown)))
            {
                throw Invalid(
                    $"a form cannot hold a {field.Info.TypeName}, only scalars and lists of them. Use JSON.");
            }
            object value = message.Get(field.Info)!;
            if (field.IsRepeated)
            {
                foreach (object item in (IEnumerable)value)
                {
                    WritePair(field, item);
                }
            }
            else
            {
                WritePair(field, value);
            }
            Path.Pop();
        }
    }

    private void WritePair(FieldLayout field, object value)
    {
        string pair = $"{(_isFirst ? "" : "&")}{WebUtility.UrlEncode(field.Info.Name)}=" +
            WebUtility.UrlEncode(TextOf(field, value));
        Encoding.UTF8.GetBytes(pair, output);
        _isFirst = false;
    }
}
